import type { Affinity } from '../../core/contract/affinity.js';
import { argType } from '../../core/contract/arg-type.js';
import { choice, param, rest, template, text, time, word, zone, zoneSync } from '../../core/contract/args.js';
import type { UpstreamScope } from '../../core/contract/balancer.js';
import { LearnedSessions, SESSION_FIELDS } from '../../core/toolkit/learned-sessions.js';
import { httpModule } from '../../core/contract/manifest.js';
import { directive, type ArgType, type ConfValue } from '../../core/contract/spec.js';
import { Zones } from '../../core/contract/zones.js';
import { ByCookie, type StickyCookie } from './by-cookie.js';
import { ByRoute } from './by-route.js';

function expires(): ArgType<number | 'max'> {
  const seconds = time({ calendar: true });
  return argType({
    kind: 'time',
    form: 'time | max',
    parse: (value, context) => (value === 'max' ? 'max' : Math.floor(seconds.parse(value, context) / 1000)),
  });
}

const directives = {
  sticky: directive({
    in: ['upstream'],
    args: {
      method: choice('cookie', 'route', 'learn'),
      values: rest(template('name | $variable'), 0),
      expires: param('expires', expires()),
      domain: param('domain', template('domain')),
      path: param('path', text('path')),
      samesite: param('samesite', template('strict | lax | none')),
      httponly: word('httponly'),
      secure: word('secure'),
      create: param('create', template('$variable')),
      lookup: param('lookup', template('$variable')),
      zone: param('zone', zone({ sync: 'last' })),
      timeout: param('timeout', time(), 600_000),
      header: word('header'),
      sync: zoneSync(),
    },
    doc: 'Binds clients to servers: by a cookie that names the server (cookie), by the route that a request names (route), or by the session that a server has begun (learn).',
    argDocs: {
      values: 'Name of the cookie; of route the variables of which the first that is not empty counts.',
      expires: 'How long clients keep the cookie; absent: until they end.',
      create: 'The session that a response begins, as $upstream_cookie_session; empty: none.',
      lookup: 'The session of a request, as $cookie_session.',
      zone: 'Shared memory with the sessions.',
      timeout: 'A session that is not used for so long is forgotten.',
      header: 'A session begins with the header of the response; absent: with its end.',
      sync: 'Nodes share the sessions, over the `redis` block of that name or the only one.',
    },
  }),
};

type Sticky = NonNullable<ConfValue<typeof directives.sticky>>;
type Scope = UpstreamScope<typeof directives>;

/** Parameters of each method. */
const PARAMETERS: Readonly<Record<Sticky['method'], readonly string[]>> = {
  cookie: ['expires', 'domain', 'path', 'samesite', 'httponly', 'secure'],
  route: [],
  learn: ['create', 'lookup', 'zone', 'timeout', 'header', 'sync'],
};
const ALL_PARAMETERS = new Set(Object.values(PARAMETERS).flat());

/** Session persistence (`sticky` of ngx_http_upstream_module). */
@httpModule({ name: 'srv_http_upstream_sticky_module', api: 1, directives })
export class StickySessions {
  constructor(private readonly zones: Zones) {}

  affinity(scope: Scope): Affinity | undefined {
    const { sticky } = scope.conf;
    if (sticky === undefined) return undefined;
    assertParameters(scope, sticky);
    if (sticky.method === 'cookie') {
      const cookie = cookieOf(scope, sticky);
      return { create: () => new ByCookie(cookie) };
    }
    if (sticky.method === 'learn') return this.#learn(scope, sticky);
    if (sticky.values.length === 0) return scope.fail('invalid number of arguments in "sticky" directive', 'sticky');
    return { create: () => new ByRoute(sticky.values) };
  }

  #learn(scope: Scope, { values, create, lookup, zone: place, timeout, header, sync }: Sticky): Affinity {
    if (values.length > 0) scope.fail('invalid number of arguments in "sticky" directive', 'sticky');
    if (create === undefined || lookup === undefined || place === undefined)
      return scope.fail('"sticky learn" must have "create", "lookup" and "zone" parameters', 'sticky');
    const sessions = this.zones.records(place, { fields: SESSION_FIELDS, ttl: timeout });
    return {
      create: () =>
        new LearnedSessions(
          sessions,
          (request) => create.of(request),
          (request) => lookup.of(request),
          { atHeader: header, isShared: sync !== undefined },
        ),
    };
  }
}

/** @throws ConfigError for a parameter of another method */
function assertParameters(scope: Scope, { method }: Sticky): void {
  for (const { args } of scope.directive.block?.named('sticky') ?? [])
    for (const { text: given } of args) {
      const [name = ''] = given.split('=');
      if (ALL_PARAMETERS.has(name) && !PARAMETERS[method].includes(name)) scope.fail(`invalid parameter "${given}"`, 'sticky');
    }
}

function cookieOf(scope: Scope, { values, expires: lifetime, domain, path, samesite, httponly, secure }: Sticky): StickyCookie {
  const [value, ...others] = values;
  if (value === undefined || others.length > 0) return scope.fail('invalid number of arguments in "sticky" directive', 'sticky');
  const name = value.constant ?? '';
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) return scope.fail('invalid cookie name in "sticky" directive', 'sticky');
  const flags = (httponly ? '; httponly' : '') + (secure ? '; secure' : '');
  return { name, expires: lifetime, domain, path, sameSite: samesite, flags };
}
