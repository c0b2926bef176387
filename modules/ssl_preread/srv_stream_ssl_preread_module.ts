import { flag } from '../../core/contract/args.js';
import { readClientHello, type ClientHello } from '../../core/toolkit/client-hello.js';
import { streamModule } from '../../core/contract/manifest.js';
import { directive } from '../../core/contract/spec.js';
import {
  AGAIN,
  DECLINED,
  OK,
  type StreamHandlers,
  type StreamResult,
  type StreamScope,
  type StreamSession,
} from '../../core/contract/stream.js';

const directives = {
  ssl_preread: directive({
    in: ['stream', 'stream server'],
    args: flag(),
    default: 'off',
    doc: 'Reads the ClientHello of TLS connections, which are passed on as they are: for the variables $ssl_preread_*.',
  }),
};

/** Names of versions as OpenSSL has them. */
const VERSIONS: Readonly<Record<number, string>> = {
  0x0002: 'SSLv2',
  0x0300: 'SSLv3',
  0x0301: 'TLSv1',
  0x0302: 'TLSv1.1',
  0x0303: 'TLSv1.2',
  0x0304: 'TLSv1.3',
};

/** Under this key a session keeps its hello. */
const HELLO = {};

/** Undefined: it has sent none, or it was not read. */
function helloOf(session: StreamSession): ClientHello | undefined {
  return session.get(HELLO) as ClientHello | undefined;
}

/** Server name and protocols that a TLS client requests, without decrypting its connection (ngx_stream_ssl_preread_module). */
@streamModule({
  name: 'srv_stream_ssl_preread_module',
  api: 1,
  directives,
  variables: {
    ssl_preread_protocol(session) {
      const hello = helloOf(session);
      return hello && (VERSIONS[hello.version] ?? '');
    },
    ssl_preread_server_name: (session) => helloOf(session)?.serverName,
    ssl_preread_alpn_protocols: (session) => helloOf(session)?.protocols.join(','),
  },
})
export class StreamSslPreread {
  compile({ conf }: StreamScope<typeof directives>): StreamHandlers | undefined {
    return conf.ssl_preread ? { preread: readHello } : undefined;
  }
}

function readHello(session: StreamSession): StreamResult {
  if (session.protocol === 'UDP') return DECLINED;
  // How much of it is read is limited by preread_buffer_size.
  const hello = readClientHello(session.preread, Infinity);
  if (hello === undefined) return AGAIN;
  if (hello === null) return DECLINED;
  session.set(HELLO, hello);
  if (hello.serverName !== '') session.chooseServer(hello.serverName);
  return OK;
}
