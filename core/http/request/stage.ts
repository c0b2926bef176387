/** Internal redirects one request may make (nginx: NGX_HTTP_MAX_URI_CHANGES). */
export const MAX_REDIRECTS = 10;

/** Where a request is in its phases. */
export const enum Stage {
  Server,
  Location,
  Content,
}
