/** Where a request is in its phases. */
export const enum Stage {
  Server,
  Location,
  Content,
  Answered,
}
