/** Why the deadline of a client's connection is armed. */
export const enum Waiting {
  Nothing,
  Head,
  KeepAlive,
  Body,
  Send,
}
