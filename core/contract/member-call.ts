/** Responding in the place of a member, as a cache does. */

/** One request that is about to be sent to a member, or was. The same object for all that happens to it. `Body` is {@link BodySource}. */
export interface EngineMemberCall<Body> {
  /** Prefix of the directives of its location: `proxy`, `fastcgi`. */
  readonly prefix: string;
  /** Field names of responses, lower case, that have no effect (`proxy_ignore_headers`). */
  readonly ignored: ReadonlySet<string>;
  /** The request target that members get: path and arguments as the location makes them, or as the client sent them. */
  readonly target: string;
  /** The method that the member gets. To be changed before it is asked. */
  method: string;
  /**
   * Responds as if a member had sent this: fields are hidden and rewritten as the location says, and variables such as `$upstream_http_x` have
   * them. For a call that no member is asked for, and for one that has failed or whose response was discarded.
   * @param head status line and field lines, each with its CRLF, and an empty line; bytes as latin1
   * @param body a source is closed by the engine; the bytes of a Buffer are not changed any more. Its length is the Content-Length. Ranges of it are served if a `header` handler sets
   *   `request.response.allowsRanges`, or with `force_ranges` of the location: the head here decides as that of a member does
   * @param keepsDate the client gets the Date of the head, as of a stored response it has to (RFC 9111, 4.2.3); else that of now, unless the
   *   location passes the field
   * @returns DONE @throws TypeError if the head is malformed
   */
  respond(head: string, body: Body | Buffer, keepsDate?: boolean): number;
}

/** The reason why no member has responded, in the words of `proxy_next_upstream`. `error` also where there is none to ask. */
export type CallFailure = 'error' | 'timeout' | 'invalid_header';
