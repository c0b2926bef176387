/** A small part of nginx's directives, for tests of the configuration layer alone. */
import { compileTemplate, templateParts } from '../../core/config/template.js';
import { SpecRegistry } from '../../core/config/registry.js';
import type { VariableGetter } from '../../core/contract/http.js';
import { choice, flag, number, optional, param, path, rest, size, template, text, time, word } from '../../core/contract/args.js';
import { directive, type ArgContext, type Directives } from '../../core/contract/spec.js';

const EVERYWHERE = ['http', 'server', 'location'] as const;

const core = {
  user: directive({ in: ['main'], args: { user: text(), group: optional(text()) } }),
  pid: directive({ in: ['main'], args: path() }),
  load_module: directive({ in: ['main'], args: text('file'), many: true }),
  worker_processes: directive({ in: ['main'], args: text('number | auto') }),
  error_log: directive({
    in: ['main', ...EVERYWHERE],
    args: { file: path(), level: optional(choice('warn', 'error', 'crit')) },
    many: true,
  }),
  events: directive({ in: ['main'], block: 'events' }),
  worker_connections: directive({ in: ['events'], args: number({ min: 1 }), default: '512' }),
  http: directive({ in: ['main'], block: 'http' }),
} satisfies Directives;

const http = {
  server: directive({ in: ['http'], block: 'server', many: true, identity: ({ block }) => listens(block) }),
  listen: directive({
    in: ['server'],
    args: {
      address: text('address[:port]'),
      backlog: param('backlog', number({ min: 1 })),
      ssl: word('ssl'),
      default_server: word('default_server'),
    },
    many: true,
    inherit: 'none',
  }),
  server_name: directive({ in: ['server'], args: rest(text('name')), many: true }),
  location: directive({ in: ['server', 'location'], args: rest(text('uri')), block: 'location', many: true }),
  root: directive({ in: EVERYWHERE, args: template('path'), default: 'html' }),
  sendfile: directive({ in: EVERYWHERE, args: flag(), default: 'off' }),
  keepalive_timeout: directive({ in: EVERYWHERE, args: { timeout: time(), header: optional(time()) }, default: '75s' }),
  client_max_body_size: directive({ in: EVERYWHERE, args: size(), default: '1m' }),
  types: directive({ in: EVERYWHERE, block: 'entries' }),
  gzip_comp_level: directive({ in: EVERYWHERE, args: number({ min: 1, max: 9 }), default: '1' }),
  gzip_http_version: directive({ in: EVERYWHERE, args: choice('1.0', '1.1'), default: '1.1' }),
  log_format: directive({
    in: ['http'],
    args: { name: text(), format: rest(template()) },
    many: true,
    identity: ({ args }) => args[0]?.text ?? '',
  }),
  return: directive({
    in: ['server', 'location', 'if in server', 'if in location'],
    args: { status: text('code'), text: optional(template('text | URL')) },
    inherit: 'none',
  }),
  add_header: directive({
    in: [...EVERYWHERE, 'if in location'],
    args: { name: text(), value: template(), always: word('always') },
    many: true,
  }),
  error_page: directive({ in: EVERYWHERE, args: { codes: rest(text('code'), 2) }, many: true, inherit: 'append' }),
  internal: directive({ in: ['location'] }),
  proxy_pass: directive({ in: ['location', 'if in location', 'limit_except'], args: template('URL'), inherit: 'none' }),
  proxy_read_timeout: directive({ in: EVERYWHERE, args: time(), default: '60s' }),
  proxy_set_header: directive({ in: EVERYWHERE, args: { name: text('field'), value: template('value') }, many: true }),
  map: directive({ in: ['http'], args: { source: template('string'), variable: text('$variable') }, block: 'entries', many: true }),
  'if in server': directive({ name: 'if', in: ['server'], args: rest(text('condition')), block: 'if in server', many: true }),
  if: directive({ in: ['location'], args: rest(text('condition')), block: 'if in location', many: true }),
} satisfies Directives;

const upstream = {
  upstream: directive({ in: ['http'], args: text('name'), block: 'upstream', many: true }),
  server: directive({
    in: ['upstream'],
    args: {
      address: text('address'),
      weight: param('weight', number({ min: 1 }), 1),
      failTimeout: param('fail_timeout', time(), 10_000),
      backup: word('backup'),
      down: word('down'),
    },
    many: true,
    keyed: true,
    identity: ({ args }) => args[0]?.text ?? '',
  }),
  keepalive: directive({ in: ['upstream'], args: number({ min: 1 }) }),
  keepalive_timeout: directive({ in: ['upstream'], args: time(), default: '60s' }),
  least_conn: directive({ in: ['upstream'] }),
} satisfies Directives;

export const SPECS = { core, http, upstream };

function listens(block: Iterable<{ name: string; args: readonly { text: string }[] }> | undefined): string {
  const lines = [];
  for (const { name, args } of block ?? [])
    if (name === 'listen' || name === 'server_name') lines.push(args.map(({ text }) => text).join(' '));
  return lines.join('\n');
}

/** A registry of all of them, and one module that is shipped but not loaded. */
export function nginxRegistry(): SpecRegistry {
  const registry = new SpecRegistry();
  for (const [name, specs] of Object.entries(SPECS)) {
    const faults = registry.register(`srv_${name}_module`, specs);
    if (faults.length > 0) throw new Error(faults.join('\n'));
  }
  registry.registerShipped('modules/srv_http_captcha_module.js', ['captcha', 'captcha_zone']);
  return registry;
}

const VARIABLES = new Set(['host', 'uri', 'args', 'remote_addr', 'request_uri', 'status', '1']);

function variable(name: string): VariableGetter | undefined {
  return VARIABLES.has(name) ? () => `<${name}>` : undefined;
}

/** Knows some variables, each of which is its own name in brackets. Relative paths are under /etc/srv. */
export const argContext: ArgContext = {
  template: (source) => compileTemplate(source, variable),
  parts: (source) => templateParts(source, variable),
  path: (text) => (text.startsWith('/') ? text : `/etc/srv/${text}`),
};
