import { lines } from './nginx-config.js';
import { MAX_CONNECTIONS, type Site, OWN_ANSWER } from './site.js';

/** The same site in haproxy's language. */
export function haproxyConfig(site: Site): string {
  const tls = site.certificate ? ` ssl crt ${site.certificate.bundle} ssl-min-ver TLSv1.3` : '';
  const http2 = site.http2 === true ? (site.certificate ? ' alpn h2' : ' proto h2') : '';
  return lines([
    'global',
    `    nbthread ${site.workers}`,
    `    maxconn ${MAX_CONNECTIONS}`,
    // It counts two files a connection, also for idle ones, and would not start where the limit is below that.
    '    no strict-limits',
    'defaults',
    `    mode ${site.stream === true ? 'tcp' : 'http'}`,
    '    timeout connect 5s',
    '    timeout client 1h',
    '    timeout server 1h',
    ...(site.stream === true ? [] : ['    timeout http-keep-alive 1h', '    http-reuse always']),
    'frontend site',
    `    bind 127.0.0.1:${site.port}${tls}${http2}`,
    ...(site.stream === true
      ? []
      : [`    http-request return status 200 content-type text/plain string ${'x'.repeat(1024)} if { path ${OWN_ANSWER} }`]),
    '    default_backend backend',
    'backend backend',
    `    server backend 127.0.0.1:${site.backend}`,
  ]);
}
