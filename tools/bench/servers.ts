import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { haproxyConfig } from './haproxy-config.js';
import { type Additions, nginxConfig, nginxOnly, srvConfig } from './nginx-config.js';
import { NGINX_STREAM_MODULE } from './nginx-stream.js';
import type { Programs } from './programs.js';
import { varnishConfig } from './varnish-config.js';
import { OVER_HTTP2, type Site, UPSTREAM_KEEPALIVE } from './site.js';

/** A server that can be measured. Adding one to the benchmark is adding one of these to the list below. */
export interface ServerKind {
  readonly name: string;
  /** Its configuration files for the site: path inside its folder, and text. */
  files(site: Site): Readonly<Record<string, string>>;
  /** The command that runs it in the foreground with the files in `dir`. */
  command(dir: string, site: Site): readonly string[];
  /** Ends it in order. */
  readonly quit: NodeJS.Signals;
}

/** The command line's entry of srv, beside this file in the build. */
export const srvEntry = fileURLToPath(new URL('../../core/cli/srv.js', import.meta.url));

/** Features that nginx before 1.29.4 does not have. */
function memberHttp2({ backendHttp2, stream }: Site): Additions {
  if (backendHttp2 === 0 || stream === true) return {};
  return {
    http: [`upstream two { server 127.0.0.1:${backendHttp2}; keepalive ${UPSTREAM_KEEPALIVE}; keepalive_requests 1000000000; }`],
    server: [`location = ${OVER_HTTP2} { proxy_pass http://two; proxy_http_version 2; }`],
  };
}

/**
 * @param nodeOptions options of Node itself, for profiling
 * @param entry another build's {@link srvEntry}
 */
export function srvServer(nodeOptions: readonly string[] = [], entry: string = srvEntry): ServerKind {
  return {
    name: 'srv',
    files: (site) => ({ 'conf/srv.conf': srvConfig(site, memberHttp2(site)) }),
    command: (dir) => [process.execPath, ...nodeOptions, entry, '-p', dir, '-c', 'conf/srv.conf'],
    quit: 'SIGTERM',
  };
}

function nginxServer(name: string, path: string, http: readonly string[]): ServerKind {
  return {
    name,
    files: (site) => ({
      'nginx.conf': nginxConfig(site, {
        http: [...nginxOnly, ...http],
        main: site.stream === true || site.datagrams !== undefined ? [`load_module ${NGINX_STREAM_MODULE};`] : [],
      }),
    }),
    // -e: nginx would otherwise open the log file of the system before it reads the configuration.
    command: (dir) => [path, '-p', dir, '-e', 'error.log', '-c', 'nginx.conf'],
    quit: 'SIGTERM',
  };
}

/** The servers that are installed here. */
export function installedServers(programs: Programs): ServerKind[] {
  const servers: ServerKind[] = [];
  const { nginx, haproxy, varnishd } = programs;
  if (existsSync(srvEntry)) servers.push(srvServer());
  if (nginx !== undefined) {
    servers.push(nginxServer('nginx', nginx.path, []), nginxServer('nginx-sendfile', nginx.path, ['sendfile on;']));
  }
  if (haproxy !== undefined) {
    servers.push({
      name: 'haproxy',
      files: (site) => ({ 'haproxy.cfg': haproxyConfig(site) }),
      command: (dir) => [haproxy.path, '-db', '-f', `${dir}/haproxy.cfg`],
      quit: 'SIGTERM',
    });
  }
  if (varnishd !== undefined) {
    servers.push({
      name: 'varnish',
      files: (site) => ({ 'site.vcl': varnishConfig(site) }),
      command: (dir, { port }) =>
        `${varnishd.path} -F -j none -n ${dir}/work -f ${dir}/site.vcl -a 127.0.0.1:${port} -s malloc,64m`.split(' '),
      quit: 'SIGTERM',
    });
  }
  return servers;
}
