/** The form of `/v1/explain`. What the fields mean is said in core/contract/explain.ts. */
import { Type } from '../../core/contract/schema.js';

export const explainQuery = Type.Object({
  url: Type.String({ minLength: 1, maxLength: 65_536, description: '`http://host:port/path?args`, or a path with a header `Host`.' }),
  method: Type.Optional(Type.String({ description: 'Default: GET.' })),
  header: Type.Optional(Type.Array(Type.String(), { maxItems: 200, description: '`Name: value`, as often as there are headers.' })),
  client: Type.Optional(Type.String({ description: 'Address of the client. Default: 127.0.0.1.' })),
  listen: Type.Optional(
    Type.String({ description: 'Address that the client connects to, as `listen` names it. Default: that of the URL.' }),
  ),
  candidates: Type.Optional(Type.Integer({ minimum: 0, maximum: 1000, description: 'Rejected locations that are listed. Default: 20.' })),
});

const text = Type.String();
const optionalText = Type.Optional(Type.String());
const fields = Type.Array(Type.Array(Type.String()), { description: 'Name and value of each.' });

const location = Type.Object({
  location: Type.Optional(Type.String({ description: 'Modifier and name. Absent: none matches.' })),
  uri: text,
  why: text,
  rejected: Type.Array(Type.Object({ location: text, why: text, matches: Type.Boolean() })),
  more: Type.Integer({ description: 'Rejected locations that are not listed.' }),
});

const step = Type.Object({
  phase: Type.String({ description: 'A phase, `content`, `location`, `redirect`, `error_page` or `response`.' }),
  module: optionalText,
  text,
  facts: Type.Optional(Type.Record(Type.String(), Type.Any())),
});

const member = Type.Object({
  server: text,
  state: text,
  weight: Type.Integer(),
  backup: Type.Boolean(),
  active: Type.Integer(),
  usable: Type.Boolean({ description: 'It could be picked now.' }),
});

const upstream = Type.Object({
  name: text,
  scheme: Type.String({ description: 'Protocol of the members: http, https, grpc, grpcs, fastcgi, and tcp of tunnels.' }),
  method: text,
  uri: text,
  version: Type.String({ description: 'Version of HTTP; empty: another protocol.' }),
  headers: fields,
  balancing: text,
  members: Type.Array(member),
  more: Type.Integer(),
  member: Type.Optional(Type.String({ description: 'The member that is chosen, where that is certain.' })),
});

export const explanation = Type.Object(
  {
    request: Type.Object({ method: text, url: text, host: text, uri: text, client: text }),
    listener: Type.Object({ address: text, secure: Type.Boolean(), why: text }),
    server: Type.Optional(Type.Object({ name: text, names: Type.Array(text), by: text, why: text })),
    locations: Type.Array(location),
    steps: Type.Array(step),
    response: Type.Object({
      by: Type.Enum(['srv', 'upstream', 'connection', 'module']),
      status: Type.Optional(Type.Integer({ description: 'Absent: it cannot be known.' })),
      location: optionalText,
      text,
    }),
    upstream: Type.Optional(upstream),
    assumptions: Type.Array(text),
  },
  { title: 'Explanation' },
);
