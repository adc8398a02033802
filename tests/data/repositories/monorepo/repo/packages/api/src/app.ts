export const app = "shop"
