/** How long a token of the measured application can live, in milliseconds: the default of `JWT_REFRESH_TOKEN_EXPIRES`. */
export const LONGEST_LIFETIME = 20 * 86_400_000
