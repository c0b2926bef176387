import { Variables } from '../../config/variables.js';
import type { HttpRequest } from '../../contract/http.js';
import type { Log } from '../../contract/log.js';

/** Variables of the engine and its modules that a configuration may define as well: `set` or a named group gives them another value. */
const CHANGEABLE = new Set(['args', 'proxy_host', 'proxy_port', 'limit_rate', 'uid_reset']);

/** Header fields that nginx has variables of their own for: unlike other fields, they cannot be names for a `set`. */
const FIXED = new Set(
  ['host', 'user_agent', 'referer', 'via', 'x_forwarded_for', 'cookie']
    .map((name) => `http_${name}`)
    .concat(
      [
        'content_type',
        'content_length',
        'location',
        'last_modified',
        'connection',
        'keep_alive',
        'transfer_encoding',
        'cache_control',
        'link',
      ].map((name) => `sent_http_${name}`),
    ),
);

/** Variables of modules that evaluate what a directive says: `root`, `secure_link`. */
const OPEN = new Set(['document_root', 'realpath_root', 'request_filename', 'secure_link', 'secure_link_expires']);

/** Parts of the engine's requests beyond the contract. */
interface Own extends HttpRequest {
  readonly assigned: ReadonlyMap<string, string> | undefined;
  readonly context: { readonly log: Log };
}

/** The variables of HTTP requests. */
export class HttpVariables extends Variables<HttpRequest> {
  constructor() {
    super(
      (request, name) => (request as Own).assigned?.get(name),
      (digit) => (request) => request.captures?.[Number(digit)],
      (name) => FIXED.has(name),
      (name) => CHANGEABLE.has(name),
      (name) => OPEN.has(name),
      (request, name) => (request as Own).context.log.write('error', `cycle while evaluating variable "${name}"`, request),
    );
  }
}
