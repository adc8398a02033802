export const RATE = 19
