/** What the member API takes and answers. */
import { DATA_PLANE_ERRORS } from '../../core/module/control.js';
import { duration, Type } from '../../core/module/schema.js';

const WHOLE = 2 ** 31 - 1;
/** Characters that would end a line of the configuration or a header are not text. */
const Text = (maxLength: number, description: string) => Type.String({ maxLength, pattern: String.raw`^[^\x00-\x1f\x7f]*$`, description });

const fields = {
  weight: Type.Integer({ minimum: 1, maximum: 65535 }),
  max_conns: Type.Integer({ minimum: 0, maximum: WHOLE, description: '0: no limit' }),
  max_fails: Type.Integer({ minimum: 0, maximum: WHOLE, description: '0: never marked failed' }),
  fail_timeout: duration(),
  slow_start: duration(),
  route: Text(32, 'text of up to 32 characters without control characters'),
  service: Text(253, 'the name of a service, without control characters'),
  backup: Type.Boolean(),
  down: Type.Boolean(),
  drain: Type.Boolean(),
};
const server = Text(300, 'an address: ip:port, [v6]:port, unix:/path or name:port');

const Member = Type.Object({
  id: Type.Integer(),
  server: Type.String(),
  weight: fields.weight,
  max_conns: fields.max_conns,
  max_fails: fields.max_fails,
  fail_timeout: Type.String(),
  slow_start: Type.String(),
  route: Type.String(),
  backup: Type.Boolean(),
  down: Type.Boolean(),
  drain: Type.Boolean(),
  service: Type.Optional(Type.String()),
  host: Type.Optional(Type.String({ description: 'The name the address came from.' })),
  parent: Type.Optional(Type.Integer({ description: 'The member with the name, where that has several addresses.' })),
});
const NewMember = Type.Object({ server, ...Type.Partial(Type.Object(fields)).properties });
/** Read-only fields, so that what GET returned can be edited and sent back. */
const shown = { id: Type.Integer(), host: Type.String(), parent: Type.Integer() };
const PartOfMember = Type.Partial(Type.Object({ server, ...fields, ...shown }));
const ListedMember = Type.Object({ server, ...Type.Partial(Type.Object({ ...fields, ...shown })).properties });
/** Members in one response at most; a page is smaller where the caller says so. */
const MOST_MEMBERS = 100_000;
const MemberPage = Type.Object({
  server: Type.Optional(Type.String({ description: 'Only the server at this address.' })),
  after: Type.Optional(Type.Integer({ minimum: 0, description: 'Id that the page before ended with.' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MOST_MEMBERS })),
});

const Count = Type.Integer({ minimum: 0 });
const Peer = Type.Object({
  id: Type.Integer(),
  server: Type.String(),
  name: Type.String(),
  backup: Type.Boolean(),
  weight: Type.Integer(),
  state: Type.Enum(['down', 'unhealthy', 'draining', 'checking', 'unavail', 'up']),
  active: Count,
  max_conns: Type.Optional(Count),
  requests: Count,
  responses: Type.Object({
    '1xx': Count,
    '2xx': Count,
    '3xx': Count,
    '4xx': Count,
    '5xx': Count,
    codes: Type.Record(Type.String(), Count),
    total: Count,
  }),
  sent: Count,
  received: Count,
  fails: Count,
  unavail: Count,
  health_checks: Type.Object({ checks: Count, fails: Count, unhealthy: Count }),
  downtime: Type.Number({ description: 'milliseconds' }),
  downstart: Type.Optional(Type.String({ description: 'since when it is unavailable' })),
  selected: Type.Optional(Type.String({ description: 'when it was last chosen' })),
  header_time: Type.Number({ description: 'milliseconds' }),
  response_time: Type.Number({ description: 'milliseconds' }),
});
const Group = Type.Object({
  name: Type.String(),
  zone: Type.String(),
  keepalive: Count,
  zombies: Count,
  peers: Type.Array(Peer),
});

const GROUP_ERRORS = ['UpstreamNotFound', 'UpstreamStatic', ...DATA_PLANE_ERRORS] as const;
const MEMBER_ERRORS = [...GROUP_ERRORS, 'UpstreamServerNotFound', 'UpstreamBadServerId'] as const;
const CHANGE_ERRORS = ['ConfigError', 'ChangedMeanwhile', 'ZoneFull', 'StoreFull'] as const;
const ADDRESS_ERRORS = ['UpstreamBadAddress', 'UpstreamConfNoResolver', 'UpstreamNoBackup', 'EntryExists'] as const;

export const listGroups = {
  summary: 'All upstream groups that have a zone',
  answers: { 200: Type.Array(Group) },
  errors: DATA_PLANE_ERRORS,
} as const;
export const getGroup = { summary: 'One group with the figures of its members', answers: { 200: Group }, errors: GROUP_ERRORS } as const;
export const resetGroup = {
  summary: 'Sets the statistics of a group to zero; its members stay',
  answers: { 204: null },
  errors: GROUP_ERRORS,
} as const;
export const listMembers = {
  summary: 'The members of a group',
  query: MemberPage,
  answers: { 200: Type.Array(Member) },
  errors: [...GROUP_ERRORS, 'UpstreamBadAddress'],
} as const;
export const getMember = { summary: 'One member', answers: { 200: Member }, errors: MEMBER_ERRORS } as const;
export const addMember = {
  summary: 'Adds a member',
  body: NewMember,
  answers: { 201: Member },
  errors: [...GROUP_ERRORS, ...CHANGE_ERRORS, ...ADDRESS_ERRORS],
} as const;
export const changeMember = {
  summary: 'Changes some settings of a member',
  body: PartOfMember,
  answers: { 200: Member },
  errors: [...MEMBER_ERRORS, ...CHANGE_ERRORS, ...ADDRESS_ERRORS, 'UpstreamServerImmutable'],
} as const;
export const removeMember = {
  summary: 'Removes a member, which finishes the requests that it has; answers those that remain',
  answers: { 200: Type.Array(Member) },
  errors: [...MEMBER_ERRORS, ...CHANGE_ERRORS, 'UpstreamServerImmutable'],
} as const;
export const replaceMembers = {
  summary: 'Makes the members of a group exactly these; those at the same address stay who they are',
  body: Type.Array(ListedMember, { maxItems: MOST_MEMBERS }),
  answers: { 200: Type.Array(Member) },
  errors: [...GROUP_ERRORS, ...CHANGE_ERRORS, ...ADDRESS_ERRORS],
} as const;
