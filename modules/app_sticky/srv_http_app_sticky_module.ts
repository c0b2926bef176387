import type { Affinity } from '../../core/contract/affinity.js';
import { argType } from '../../core/contract/arg-type.js';
import { param, time, zone, zoneSync, type ZoneSize } from '../../core/contract/args.js';
import type { UpstreamScope } from '../../core/contract/balancer.js';
import type { HttpRequest } from '../../core/contract/http.js';
import { LearnedSessions, SESSION_FIELDS } from '../../core/toolkit/learned-sessions.js';
import { httpModule } from '../../core/contract/manifest.js';
import { ArgError, directive, type ArgType } from '../../core/contract/spec.js';
import { Zones } from '../../core/contract/zones.js';

/** Where the value of a session is: names of the variables of a request, and of the response to it. */
interface SessionPlace {
  readonly request: string;
  readonly response: string;
}

function place(): ArgType<SessionPlace> {
  return argType({
    kind: 'text',
    form: 'cookie:name | header:name',
    parse(value) {
      const [, kind, name = ''] = /^(cookie|header):([\w-]+)$/.exec(value) ?? [];
      if (kind === undefined) throw new ArgError(`invalid session "${value}"`, 'cookie:NAME or header:NAME');
      if (kind === 'cookie') return { request: `cookie_${name}`, response: `upstream_cookie_${name}` };
      const field = name.toLowerCase().replaceAll('-', '_');
      return { request: `http_${field}`, response: `upstream_http_${field}` };
    },
  });
}

/** `zone=name:size` in the first place. */
function leadingZone(): ArgType<ZoneSize, string> {
  const type = zone({ sync: 'last' });
  return {
    ...type,
    form: `zone=${type.form}`,
    parse(value, context) {
      if (!value.startsWith('zone=')) throw new ArgError(`invalid zone "${value}"`, 'zone=NAME:SIZE');
      return type.parse(value.slice('zone='.length), context, value);
    },
    print: (value) => `zone=${type.print(value)}`,
    json: { ...type.json, text: (shown) => `zone=${shown}` },
  };
}

const directives = {
  app_sticky: directive({
    in: ['upstream'],
    args: { zone: leadingZone(), session: place(), ttl: param('ttl', time(), 600_000), sync: zoneSync() },
    doc: 'Binds sessions to servers: learns the cookie or the header field that a server sets, and sends later requests with it to the same server.',
    argDocs: {
      session: 'Name of the cookie or of the header field with the session.',
      zone: 'Shared memory with the sessions.',
      ttl: 'A session that is not used for so long is forgotten.',
      sync: 'Nodes share the sessions, over the `redis` block of that name or the only one.',
    },
  }),
};

/** Session persistence by the session id of the application. */
@httpModule({ name: 'srv_http_app_sticky_module', api: 1, directives })
export class AppSticky {
  constructor(private readonly zones: Zones) {}

  affinity({ conf: { app_sticky: settings } }: UpstreamScope<typeof directives>): Affinity | undefined {
    if (settings === undefined) return undefined;
    const { session, zone: memory, ttl, sync } = settings;
    const sessions = this.zones.records(memory, { fields: SESSION_FIELDS, ttl });
    const begun = (request: HttpRequest): string => request.variable(session.response) ?? '';
    const asked = (request: HttpRequest): string => request.variable(session.request) ?? '';
    return { create: () => new LearnedSessions(sessions, begun, asked, { atHeader: true, isShared: sync !== undefined }) };
  }
}
