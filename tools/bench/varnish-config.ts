import { lines } from './nginx-config.js';
import { CACHE, MEMORY, type Site } from './site.js';

/** The responses of the backend, from Varnish's cache where those of the others are. */
export function varnishConfig({ backend }: Site): string {
  return lines([
    'vcl 4.1;',
    `backend default { .host = "127.0.0.1"; .port = "${backend}"; }`,
    'sub vcl_recv {',
    `    if (req.url !~ "^(${CACHE}|${MEMORY})/") { return (pass); }`,
    `    set req.url = regsub(req.url, "^(${CACHE}|${MEMORY})", "");`,
    '    return (hash);',
    '}',
    'sub vcl_backend_response { set beresp.ttl = 1h; }',
  ]);
}
