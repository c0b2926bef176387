/** `health_check type=grpc`: calls of the gRPC Health Checking Protocol, as NGINX Plus makes them. */
import { Server, ServerCredentials, status, type sendUnaryData, type ServerUnaryCall } from '@grpc/grpc-js';
import test from 'ava';
import { rawBackend } from '../harness/backends.js';
import { selfSigned } from '../harness/certificate.js';
import { check } from '../harness/check.js';
import { http2Backend } from '../harness/http2-backend.js';
import type { Scope } from '../harness/scope.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

const asIs = (bytes: Buffer): Buffer => bytes;
const SERVICE = {
  check: {
    path: '/grpc.health.v1.Health/Check',
    requestStream: false,
    responseStream: false,
    requestSerialize: asIs,
    requestDeserialize: asIs,
    responseSerialize: asIs,
    responseDeserialize: asIs,
  },
} as const;
const SERVING = Buffer.from([8, 1]);
const NOT_SERVING = Buffer.from([8, 2]);

interface HealthServer {
  readonly port: number;
  /** Services as they were asked for. */
  readonly asked: Set<string>;
  response: Buffer;
}

/** @param knows false: a server without the protocol */
async function healthServer(t: Scope, knows = true, tls?: { readonly key: string; readonly cert: string }): Promise<HealthServer> {
  const server = new Server();
  const asked = new Set<string>();
  const state = { response: SERVING };
  if (knows)
    server.addService(SERVICE, {
      check: (call: ServerUnaryCall<Buffer, Buffer>, reply: sendUnaryData<Buffer>) => {
        const service = call.request.latin1Slice(2);
        asked.add(service);
        if (service === 'unknown') reply({ code: status.NOT_FOUND });
        else reply(null, state.response);
      },
    });
  const secure = tls && ServerCredentials.createSsl(null, [{ private_key: Buffer.from(tls.key), cert_chain: Buffer.from(tls.cert) }]);
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', secure ?? ServerCredentials.createInsecure(), (error, bound) => {
      if (error === null) resolve(bound);
      else reject(error);
    });
  });
  t.teardown(() => server.forceShutdown());
  return Object.assign(state, { port, asked });
}

const LOAD = 'load_module modules/srv_http_health_check_module.so;';

test('servers of gRPC are up while they say SERVING, or respond with the status that is expected', async (t) => {
  const certificate = selfSigned('localhost');
  const [plain, secure, without] = await Promise.all([healthServer(t), healthServer(t, true, certificate), healthServer(t, false)]);
  const [odd, silent, http1] = await Promise.all([
    http2Backend(t, (stream) => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.end(Buffer.from([0, 0, 0, 0, 9, 8, 1]));
    }),
    http2Backend(t, (stream) => stream.respond({ ':status': 503 }, { endStream: true })),
    rawBackend(t, (socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')),
  ]);
  const upstreams = {
    plain: [plain.port, ''],
    service: [plain.port, 'grpc_service=shop.Cart'],
    unknown: [plain.port, 'grpc_service=unknown'],
    status: [without.port, 'grpc_status=12'],
    none: [without.port, ''],
    wrong: [plain.port, 'grpc_status=12'],
    secure: [secure.port, ''],
    odd: [odd.port, ''],
    failing: [silent.port, ''],
    http1: [http1.port, ''],
  } as const;
  const srv = await startSrv(
    t,
    `${LOAD} worker_processes 1; error_log logs/error.log info; events {} http {
      ${Object.entries(upstreams)
        .map(([name, [port]]) => `upstream ${name} { zone ${name} 64k; server 127.0.0.1:${port}; }`)
        .join('\n')}
      server {
        listen 127.0.0.1:%%PORT_web%%;
        ${Object.entries(upstreams)
          .map(
            ([name, [, parameters]]) =>
              `location /${name} { grpc_pass ${name === 'secure' ? 'grpcs://' : ''}${name}; health_check interval=100ms type=grpc ${parameters}; }`,
          )
          .join('\n')}
      }
    }`,
    { allowCrashes: true },
  );
  const unhealthy = (name: string, why: string): Promise<unknown> =>
    srv.waitForLog(new RegExp(`peer is unhealthy while ${why}.*in upstream "${name}"|in upstream "${name}".*${why}`));
  await Promise.all([
    unhealthy('unknown', 'checking gRPC status'),
    unhealthy('none', 'checking gRPC status'),
    unhealthy('wrong', 'checking gRPC status'),
    unhealthy('odd', 'checking gRPC response'),
    unhealthy('failing', 'checking status code'),
    unhealthy('http1', 'reading response header'),
  ]);
  await waitFor('checks of all services', () => plain.asked.size === 3 && secure.asked.has(''));
  const before = srv.log();
  for (const name of ['plain', 'service', 'status', 'secure']) t.false(before.includes(`in upstream "${name}"`), name);
  t.deepEqual([...plain.asked].toSorted(), ['', 'shop.Cart', 'unknown']);
  plain.response = NOT_SERVING;
  await unhealthy('plain', 'checking gRPC response');
  plain.response = SERVING;
  await srv.waitForLog(/peer is healthy.*in upstream "plain"/);
});

test('type=grpc is checked as NGINX Plus does', async (t) => {
  const verdict = async (location: string): Promise<string> => {
    const { stderr } = await check(
      t,
      `${LOAD} events {} http { upstream u { zone u 64k; server 127.0.0.1:1; } match m { } server { location / { ${location} } } }`,
    );
    return stderr;
  };
  t.regex(await verdict('grpc_pass u; health_check mandatory type=grpc grpc_service=a grpc_status=12;'), /test is successful/);
  t.regex(await verdict('grpc_pass u; health_check type=http;'), /invalid/);
  t.regex(await verdict('proxy_pass http://u; health_check type=grpc;'), /"health_check" needs a "grpc_pass" to an upstream with a "zone"/);
  t.regex(await verdict('grpc_pass u; health_check uri=/a type=grpc;'), /"type=grpc" is not compatible with "uri" and "match"/);
  t.regex(await verdict('grpc_pass u; health_check match=m type=grpc;'), /"type=grpc" is not compatible/);
  t.regex(await verdict('proxy_pass http://u; health_check grpc_status=12;'), /"grpc_service" and "grpc_status" need "type=grpc"/);
  t.regex(await verdict('grpc_pass u; health_check type=grpc grpc_status=99;'), /must be between|invalid/);
});
