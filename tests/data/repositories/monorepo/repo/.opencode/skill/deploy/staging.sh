echo staging
