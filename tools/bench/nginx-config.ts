import {
  CACHE,
  MEMORY,
  MISSES,
  MIXED,
  CACHED_FILES,
  COMPRESSED,
  DECOMPRESSED,
  FILES,
  MAX_CONNECTIONS,
  type Site,
  UPLOADS,
  UPSTREAM_KEEPALIVE,
  OWN_ANSWER,
  OWN_BODY,
} from './site.js';

/** Lines that only one of the servers of this language needs. */
export interface Additions {
  readonly main?: readonly string[];
  readonly http?: readonly string[];
  readonly server?: readonly string[];
  /** The backend of the server. */
  readonly servers?: readonly string[];
}

/**
 * The site in nginx's language, for nginx and for srv alike. Logging is off, and connections last as long as the run.
 */
export function nginxConfig(site: Site, additions: Additions = {}): string {
  // Without reuseport nginx's workers share one socket, and how they divide a few connections is left to chance.
  const listen = [
    `127.0.0.1:${site.port}`,
    ...(site.workers > 1 ? ['reuseport'] : []),
    ...(site.certificate ? ['ssl'] : []),
    // The directive `http2` came with nginx 1.25.1, which warns about this form.
    ...(site.http2 === true ? ['http2'] : []),
  ];
  return lines([
    ...(additions.main ?? []),
    'daemon off;',
    'pid bench.pid;',
    'error_log error.log error;',
    `worker_processes ${site.workers};`,
    'events {',
    `    worker_connections ${MAX_CONNECTIONS};`,
    '}',
    ...(site.stream === true ? streamBlock(site, listen) : httpBlock(site, listen, additions)),
  ]);
}

function streamBlock(site: Site, listen: readonly string[]): string[] {
  return [
    'stream {',
    '    upstream backend {',
    `        server 127.0.0.1:${site.backend};`,
    '    }',
    '    server {',
    `        listen ${listen.join(' ')};`,
    '        proxy_pass backend;',
    '    }',
    '}',
  ];
}

function httpBlock(site: Site, listen: readonly string[], additions: Additions): string[] {
  return [
    'http {',
    ...(additions.http ?? []).map((line) => `    ${line}`),
    '    access_log off;',
    '    keepalive_timeout 3600s;',
    '    keepalive_requests 1000000000;',
    '    proxy_cache_path cache levels=1:2 keys_zone=hits:10m use_temp_path=off;',
    '    proxy_cache_path misses levels=1:2 keys_zone=misses:10m max_size=16m use_temp_path=off;',
    // 25 of 256 have a key of their own.
    '    map $request_id $mixed_key { default hit; "~^(0|1[0-8])" $request_id; }',
    '    upstream backend {',
    `        server 127.0.0.1:${site.backend};`,
    `        keepalive ${UPSTREAM_KEEPALIVE};`,
    '        keepalive_requests 1000000000;',
    '    }',
    '    server {',
    `        listen ${listen.join(' ')};`,
    ...tlsLines(site),
    ...(additions.server ?? []).map((line) => `        ${line}`),
    '        proxy_http_version 1.1;',
    '        proxy_set_header Connection "";',
    '        location / { proxy_pass http://backend; }',
    `        location ${COMPRESSED}/ { proxy_pass http://backend/; gzip on; gzip_types text/plain; }`,
    `        location ${DECOMPRESSED}/ { proxy_pass http://backend/; gunzip on; }`,
    `        location ${CACHE}/ { proxy_pass http://backend/; proxy_cache hits; proxy_cache_valid 200 1h; }`,
    `        location ${MEMORY}/ { proxy_pass http://backend/; proxy_cache memory; proxy_cache_valid 200 1h; }`,
    `        location ${MISSES}/ { proxy_pass http://backend/; proxy_cache misses; proxy_cache_valid 200 1h; proxy_cache_key $request_id; }`,
    `        location ${MIXED}/ { proxy_pass http://backend/; proxy_cache misses; proxy_cache_valid 200 1h; proxy_cache_key $mixed_key; }`,
    `        location ${UPLOADS} { proxy_pass http://backend; proxy_request_buffering off; client_max_body_size 0; }`,
    `        location = ${OWN_ANSWER} { return 200 "${OWN_BODY}"; }`,
    `        location ${FILES} { alias ${site.files}/; }`,
    `        location ${CACHED_FILES} { alias ${site.files}/; open_file_cache max=1000; }`,
    '    }',
    ...(additions.servers ?? []).map((line) => `    ${line}`),
    '}',
    ...datagramLines(site),
  ];
}

function datagramLines({ datagrams }: Site): string[] {
  if (datagrams === undefined) return [];
  const server = `listen 127.0.0.1:${datagrams.port} udp; proxy_pass 127.0.0.1:${datagrams.backend};`;
  return ['stream {', '    access_log off;', `    server { ${server} }`, '}'];
}

/** The site for srv, which keeps responses in memory as well as in files; nginx has its files in the memory of the system. */
export function srvConfig(site: Site, additions: Additions = {}): string {
  const memory = 'proxy_cache_path memory keys_zone=memory:10m memory=64m use_temp_path=off;';
  return nginxConfig(site, { ...additions, http: [memory, ...(additions.http ?? [])] });
}

/** A configuration text of these lines. */
export function lines(list: readonly string[]): string {
  return `${list.join('\n')}\n`;
}

/**
 * Directives that nginx alone needs in its `http` block. Debian's has folders of the system compiled in, which only root may use: they are made
 * in the prefix instead. And it is not to write files where a client is slow, which srv does not do either.
 */
export const nginxOnly: readonly string[] = [
  ...['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${name}_temp;`),
  'proxy_max_temp_file_size 0;',
  'proxy_cache_path memory keys_zone=memory:10m use_temp_path=off;',
];

function tlsLines(site: Site): string[] {
  if (site.certificate === undefined) return [];
  return [
    `        ssl_certificate ${site.certificate.certificate};`,
    `        ssl_certificate_key ${site.certificate.key};`,
    '        ssl_protocols TLSv1.3;',
  ];
}
