/** Key of a request's state under which modules that check passwords leave the name of the user ({@link HttpRequest.set}). */
export const VERIFIED_USER: object = Object.freeze({});
