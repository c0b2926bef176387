/** Why a list cannot be used, in words for the log. */
export class ListError extends Error {}
