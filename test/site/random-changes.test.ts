/** However a configuration came about, it serves as one that was started with. */
import test from 'ava';
import { type Arbitrary, array, assert, asyncProperty, boolean, constantFrom, nat, record, uniqueArray } from 'fast-check';
import type { Location } from '../../core/http/site/location.js';
import { Site } from './site.js';

const NAMES = ['a.example', '*.b.example', 'c.*', '~^d(?<n>.)', 'e.example'];
const HOSTS = ['a.example', 'x.b.example', 'c.org', 'd1', 'e.example', 'nobody', ''];
const PLACES = ['/', '/p/', '= /p', '^~ /p/q/', '~ ^/p/(.)', '~ x$', '/p/q/r'];
const PATHS = ['/', '/p', '/p/', '/p/q/', '/p/q/x', '/p/q/r', '/y/x', '/p/1', '/p/x'];

/** Settings that are inherited change seldom: they compile whole blocks again. */
const seldom = constantFrom(0, 0, 0, 0, 0, 1);

/** Of the engine, of modules that make no handlers without them, and of proxy_pass. */
const SETTINGS = [
  'keepalive_timeout 7s;',
  'default_type text/x;',
  'gzip on;',
  'charset utf-8;',
  'proxy_read_timeout 7s;',
  'proxy_intercept_errors on;',
];

const location = record({
  place: nat(PLACES.length - 1),
  header: nat(2),
  setting: nat(2 * SETTINGS.length),
  upstream: nat(2),
  nested: boolean(),
});
const server = record({
  name: nat(NAMES.length - 1),
  port: seldom,
  isDefault: seldom,
  header: seldom,
  setting: nat(2 * SETTINGS.length),
  locations: uniqueArray(location, { selector: ({ place }) => place, minLength: 3, maxLength: 7 }),
});
const configuration = record({
  servers: array(server, { minLength: 2, maxLength: 5 }),
  header: seldom,
  settings: array(nat(SETTINGS.length - 1), { maxLength: 2 }),
  zones: nat(2),
  map: nat(2),
});
type Configuration = typeof configuration extends Arbitrary<infer C> ? C : never;

const header = (value: number): string => (value === 0 ? '' : `add_header X-A ${value};`);

const setting = (value: number): string => SETTINGS[value] ?? '';

function textOf({ servers, header: outer, settings, zones, map }: Configuration): string {
  const seen = new Set<number>();
  const blocks = servers.map((each) => {
    const isDefault = each.isDefault === 1 && !seen.has(each.port);
    if (isDefault) seen.add(each.port);
    const locations = each.locations.map((one) => {
      const nested = one.nested && one.place === 1 ? 'location /p/n/ { return 204; }' : '';
      const pass = one.upstream === 0 ? 'return 200 "$mapped";' : `proxy_pass http://u${one.upstream};`;
      return `location ${PLACES[one.place]} { ${header(one.header)} ${setting(one.setting)} ${pass} ${nested} }`;
    });
    return `server { listen 127.0.0.1:81${each.port}${isDefault ? ' default_server' : ''}; server_name ${NAMES[each.name]}; ${header(each.header)} ${setting(each.setting)} ${locations.join(' ')} }`;
  });
  const upstreams = [1, 2].map(
    (number) => `upstream u${number} { ${number <= zones ? `zone z${number} 64k;` : ''} server 127.0.0.1:${number}; }`,
  );
  return `events {} http { access_log off; ${header(outer)} ${Array.from(new Set(settings), setting).join(' ')} map $arg_a $mapped { default ${map}; } ${upstreams.join(' ')} ${blocks.join(' ')} }`;
}

/** What each host and path is served by. */
function behaviour(site: Site): Record<string, unknown> {
  const shown: Record<string, unknown> = {};
  for (const address of ['127.0.0.1:810', '127.0.0.1:811']) {
    const names = site.names(address);
    for (const host of names === undefined ? [] : HOSTS) {
      const server = names?.find(host).server;
      for (const path of PATHS) {
        const found = server?.locations.find(path);
        shown[`${address} ${host} ${path}`] = [
          server?.name,
          found?.redirect,
          found?.captures?.[0],
          found?.location && describe(found.location),
        ];
      }
    }
  }
  return shown;
}

function describe({ match, settings, headerFilters, steps, content, scope, made }: Location): unknown {
  const headers = scope.lines('add_header').map(({ args }) => args.map((word) => word.text).join(' '));
  const { autoRedirect, keepaliveTimeout, defaultType } = settings;
  const handlers = made.map((one) => [one.place, ...Object.keys(one.handlers)].join(' '));
  const shown = [match.kind, match.name, autoRedirect, keepaliveTimeout, defaultType, headerFilters.length, handlers];
  return [...shown, steps.phases.join(), content !== undefined, headers];
}

test('a sequence of changes leaves what a start with the last configuration leaves', async (t) => {
  await assert(
    asyncProperty(array(configuration, { minLength: 2, maxLength: 5 }), async (configurations) => {
      const changed = new Site(t);
      for (const each of configurations) await changed.become(textOf(each));
      const fresh = new Site(t);
      await fresh.become(textOf(configurations.at(-1) as Configuration));
      const expected = behaviour(fresh);
      t.true(Object.keys(expected).length > 0);
      t.deepEqual(behaviour(changed), expected);
    }),
    { numRuns: 15 },
  );
});

/** A server with a setting, and a location with something nested in it. */
const nestedIn = (setting: string, nested: string): string =>
  `events {} http { access_log off; server { listen 127.0.0.1:810; server_name a.example; ${setting} location /p/ { return 200; ${nested} } location / { return 200; } } }`;

test('a location that loses a nested one in the change in which its server loses a setting inherits no more', async (t) => {
  const changed = new Site(t);
  await changed.become(nestedIn('add_header X-A 1;', 'location /p/n/ { return 204; }'));
  await changed.become(nestedIn('', ''));
  const fresh = new Site(t);
  await fresh.become(nestedIn('', ''));
  t.deepEqual(behaviour(changed), behaviour(fresh));
});
