import { argType } from '../../contract/arg-type.js';
import { flag, number, size } from '../../contract/args.js';
import { ArgError, directive, type ArgType } from '../../contract/spec.js';
import { LARGEST_WINDOW } from '../../net/http2/protocol.js';

const IN_SERVER = ['http', 'server'] as const;
const ANYWHERE = ['http', 'server', 'location'] as const;

/** The window of a request body that is not read yet. */
function windowSize(): ArgType<number, string | number> {
  const type = size();
  return {
    ...type,
    parse(text, context) {
      const value = type.parse(text, context);
      if (value > LARGEST_WINDOW) throw new ArgError(`the maximum body preread buffer size is ${LARGEST_WINDOW}`);
      return value;
    },
  };
}

function chunkSize(): ArgType<number, string | number> {
  const type = size();
  return {
    ...type,
    parse(text, context) {
      const value = type.parse(text, context);
      if (value === 0) throw new ArgError('the http2 chunk size cannot be zero');
      return value;
    },
  };
}

/** Any value of a directive that nginx has given up, with nginx's warning. */
function given(name: string, advice: string): ArgType<string> {
  return argType({
    kind: 'text',
    form: 'value',
    parse(text, { warn }) {
      warn?.(`the "${name}" directive is obsolete, ${advice}`);
      return text;
    },
  });
}

/** A directive that nginx 1.19.7 replaced by another. */
function replaced(name: string, by: string) {
  return directive({
    in: IN_SERVER,
    args: given(name, `use the "${by}" directive instead`),
    many: true,
    doc: `Accepted: obsolete, use \`${by}\` instead.`,
  });
}

/** Directives of nginx's ngx_http_v2_module, as nginx 1.25 has them. */
export const http2Directives = {
  http2: directive({
    in: IN_SERVER,
    args: flag(),
    default: 'off',
    doc: 'Enables HTTP/2: over TLS by ALPN, otherwise with prior knowledge.',
  }),
  http2_max_concurrent_streams: directive({
    in: IN_SERVER,
    args: number(),
    default: '128',
    doc: 'Maximum number of concurrent HTTP/2 streams of a connection.',
  }),
  http2_body_preread_size: directive({
    in: IN_SERVER,
    args: windowSize(),
    default: '64k',
    doc: 'Bytes of a request body that an HTTP/2 client may send before the body is read.',
  }),
  http2_chunk_size: directive({
    in: ANYWHERE,
    args: chunkSize(),
    default: '8k',
    doc: 'Longest piece of a response in one frame of HTTP/2. Longer ones cost less, shorter ones let other responses in between; at most 16k.',
  }),
  http2_recv_buffer_size: directive({
    in: ['http'],
    args: size({ min: '1' }),
    default: '256k',
    doc: 'Accepted: frames are read in place.',
  }),
  http2_max_field_size: replaced('http2_max_field_size', 'large_client_header_buffers'),
  http2_max_header_size: replaced('http2_max_header_size', 'large_client_header_buffers'),
  http2_max_requests: replaced('http2_max_requests', 'keepalive_requests'),
  http2_idle_timeout: replaced('http2_idle_timeout', 'keepalive_timeout'),
  http2_recv_timeout: replaced('http2_recv_timeout', 'client_header_timeout'),
  http2_push: directive({
    in: ANYWHERE,
    args: given('http2_push', 'ignored'),
    many: true,
    doc: 'Accepted: obsolete, nothing is pushed.',
  }),
  http2_push_preload: directive({
    in: ANYWHERE,
    args: given('http2_push_preload', 'ignored'),
    many: true,
    doc: 'Accepted: obsolete, nothing is pushed.',
  }),
  http2_max_concurrent_pushes: directive({
    in: IN_SERVER,
    args: given('http2_max_concurrent_pushes', 'ignored'),
    many: true,
    doc: 'Accepted: obsolete, nothing is pushed.',
  }),
};
