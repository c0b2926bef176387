/** Schemas of the member API: input and responses. */
import { DATA_PLANE_ERRORS } from '../../core/contract/control.js';
import { argSchemas, Type, type TSchema } from '../../core/contract/schema.js';
import { pageLimit } from '../../core/contract/versioned.js';
import { upstreamDirectives } from '../../core/toolkit/upstream.js';
import { memberErrors } from './check-members.js';

const { accepted, shown } = argSchemas(upstreamDirectives.server);
// Whether a name is looked up again and again follows from the address; where members come from is a matter of the files.
const { server, resolve: _accepted, members_from: _source, ...httpSettings } = accepted;
const { resolve: _shown, members_from: _shownSource, service, ...shownHttpSettings } = shown;
// Sessions have no routes.
const { route: _route, ...streamSettings } = httpSettings;
const { route: _shownRoute, ...shownStreamSettings } = shownHttpSettings;

/** Members in one response, where the caller does not say less. */
const MOST_MEMBERS = 100_000;
/** So that what GET returns of that many fits. */
const MAX_LIST = 32 * 1024 * 1024;
const limit = pageLimit(MOST_MEMBERS);
const MemberPage = Type.Object({
  server: Type.Optional(Type.String({ description: 'Only the server at this address.' })),
  after: Type.Optional(Type.Integer({ minimum: 0, description: 'Id that the page before ended with.' })),
  limit,
});
const UpstreamPage = Type.Object({ after: Type.Optional(Type.String({ description: 'Name that the page before ended with.' })), limit });

/** Read-only fields, so that what GET returned can be edited and sent back. */
const readOnly = { id: Type.Integer(), host: Type.String(), parent: Type.Integer(), state: Type.String() };

const Count = Type.Integer({ minimum: 0 });
const Milliseconds = Type.Number({ description: 'milliseconds' });

const UPSTREAM_ERRORS = ['UpstreamNotFound', 'UpstreamStatic', ...DATA_PLANE_ERRORS] as const;
const MEMBER_ERRORS = [...UPSTREAM_ERRORS, 'UpstreamServerNotFound', 'UpstreamBadServerId'] as const;
const CHANGE_ERRORS = ['ConfigError', 'ChangedMeanwhile', 'ZoneFull', 'StoreFull'] as const;
const ADDRESS_ERRORS = ['UpstreamBadAddress', 'UpstreamConfNoResolver', 'UpstreamNoBackup', 'EntryExists'] as const;

/** The upstream that a call is about. */
const inPath = { in: 'path', name: 'upstream' } as const;

type Properties = Readonly<Record<string, TSchema>>;

/** Differences between the two traffic engines. */
interface Differences {
  /** In front of the titles of schemas. */
  readonly prefix: string;
  readonly settings: Properties;
  readonly shownSettings: Properties;
  /** Of a peer. */
  readonly counts: Properties;
  readonly times: Properties;
  /** Of an upstream. */
  readonly kept: Properties;
}

function schemasOf({ prefix, settings, shownSettings, counts, times, kept }: Differences) {
  const Member = Type.Object(
    {
      id: Type.Integer(),
      ...shownSettings,
      service: Type.Optional(service),
      host: Type.Optional(Type.String({ description: 'Host name that the address was resolved from.' })),
      parent: Type.Optional(Type.Integer({ description: 'Id of the server with the host name.' })),
      state: Type.Optional(Type.Enum(['resolving'], { description: 'The host name has no address yet, or none any more.' })),
    },
    { title: `${prefix}Member` },
  );
  const NewMember = Type.Object({ server, ...Type.Partial(Type.Object(settings)).properties }, { title: `New${prefix}Member` });
  const MemberPatch = Type.Object(
    { ...Type.Partial(Type.Object({ server, ...settings, ...readOnly })).properties },
    { title: `${prefix}MemberPatch` },
  );
  const ListedMember = Type.Object(
    { server, ...Type.Partial(Type.Object({ ...settings, ...readOnly })).properties },
    { title: `Listed${prefix}Member` },
  );
  const Peer = Type.Object(
    {
      id: Type.Integer(),
      server: Type.String(),
      name: Type.String(),
      parent: Type.Optional(Type.Integer({ description: 'Id of the server with the host name.' })),
      backup: Type.Boolean(),
      weight: Type.Integer(),
      state: Type.Enum(['resolving', 'down', 'unhealthy', 'draining', 'checking', 'unavail', 'up']),
      active: Count,
      max_conns: Type.Optional(Count),
      ...counts,
      sent: Count,
      received: Count,
      fails: Count,
      unavail: Count,
      health_checks: Type.Object({
        checks: Count,
        fails: Count,
        unhealthy: Type.Integer({ minimum: 0, description: 'how often it became unhealthy' }),
        last_passed: Type.Optional(Type.Boolean()),
        last_error: Type.Optional(Type.String({ description: 'why the last check failed that did' })),
        last_at: Type.Optional(Type.String({ description: 'when the last check ended' })),
      }),
      downtime: Type.Number({ description: 'milliseconds' }),
      downstart: Type.Optional(Type.String({ description: 'since when it is unavailable' })),
      selected: Type.Optional(Type.String({ description: 'when it was last chosen' })),
      ...times,
      response_time: Type.Number({ description: 'milliseconds' }),
    },
    { title: `${prefix}Peer` },
  );
  const Upstream = Type.Object(
    {
      name: Type.String(),
      zone: Type.String(),
      ...kept,
      zombies: Type.Integer({ minimum: 0, description: 'removed servers that still have requests' }),
      queue: Type.Optional(
        Type.Object(
          { size: Count, max_size: Count, overflows: Type.Integer({ minimum: 0, description: 'requests that found the queue full' }) },
          { description: 'requests that wait for a server; absent without `queue`' },
        ),
      ),
      peers: Type.Array(Peer),
      nodes: Type.Optional(
        Type.Record(
          Type.String(),
          Type.Object({
            peers: Type.Optional(Type.Array(Type.Pick(Peer, ['id', 'server', 'state', 'health_checks']))),
            error: Type.Optional(Type.String()),
          }),
          { description: 'With `nodes=all`: the members as each node of the cluster sees them.' },
        ),
      ),
    },
    { title: `${prefix}Upstream` },
  );

  const listUpstreams = {
    summary: 'List all upstreams with a zone',
    query: UpstreamPage,
    responses: { 200: Type.Array(Upstream) },
    headers: ['ETag', 'Link'],
    errors: DATA_PLANE_ERRORS,
  } as const;
  const getUpstream = {
    summary: 'Get an upstream with the figures of its members',
    upstream: inPath,
    query: Type.Object({ nodes: Type.Optional(Type.Enum(['all'], { description: 'Also the health of its members at the other nodes.' })) }),
    responses: { 200: Upstream },
    headers: ['ETag'],
    errors: UPSTREAM_ERRORS,
  } as const;
  const resetUpstream = {
    summary: 'Set the statistics of an upstream to zero; its members stay',
    upstream: inPath,
    dryRun: true,
    responses: { 204: null },
    errors: UPSTREAM_ERRORS,
  } as const;
  const listMembers = {
    summary: 'List the members of an upstream',
    upstream: inPath,
    query: MemberPage,
    responses: { 200: Type.Array(Member) },
    headers: ['ETag', 'Link'],
    errors: [...UPSTREAM_ERRORS, 'UpstreamBadAddress'],
  } as const;
  const getMember = {
    summary: 'Get a member by id or address',
    upstream: inPath,
    responses: { 200: Member },
    headers: ['ETag'],
    errors: MEMBER_ERRORS,
  } as const;
  const addMember = {
    summary: 'Add a member',
    upstream: inPath,
    dryRun: true,
    body: NewMember,
    check: memberErrors,
    responses: { 201: Member },
    headers: ['ETag', 'Location'],
    errors: [...UPSTREAM_ERRORS, ...CHANGE_ERRORS, ...ADDRESS_ERRORS],
  } as const;
  const changeMember = {
    summary: 'Change some settings of a member',
    upstream: inPath,
    dryRun: true,
    body: MemberPatch,
    check: memberErrors,
    responses: { 200: Member },
    headers: ['ETag'],
    errors: [...MEMBER_ERRORS, ...CHANGE_ERRORS, ...ADDRESS_ERRORS, 'UpstreamServerImmutable'],
  } as const;
  const removeMember = {
    summary: 'Remove a member, which finishes its requests; returns the members that remain',
    upstream: inPath,
    dryRun: true,
    responses: { 200: Type.Array(Member) },
    headers: ['ETag'],
    errors: [...MEMBER_ERRORS, ...CHANGE_ERRORS, 'UpstreamServerImmutable'],
  } as const;
  const replaceMembers = {
    summary: 'Replace the members of an upstream; those at the same address keep id, figures and connections',
    upstream: inPath,
    dryRun: true,
    body: Type.Array(ListedMember, { maxItems: MOST_MEMBERS }),
    maxBody: MAX_LIST,
    check: memberErrors,
    responses: { 200: Type.Array(Member) },
    headers: ['ETag'],
    errors: [...UPSTREAM_ERRORS, ...CHANGE_ERRORS, ...ADDRESS_ERRORS],
  } as const;

  return { listUpstreams, getUpstream, resetUpstream, listMembers, getMember, addMember, changeMember, removeMember, replaceMembers };
}

export const http = schemasOf({
  prefix: '',
  settings: httpSettings,
  shownSettings: shownHttpSettings,
  counts: {
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
  },
  times: { header_time: Milliseconds },
  kept: { keepalive: Type.Integer({ minimum: 0, description: 'idle connections' }) },
});

export const stream = schemasOf({
  prefix: 'Stream',
  settings: streamSettings,
  shownSettings: shownStreamSettings,
  counts: { connections: Count },
  times: { connect_time: Milliseconds, first_byte_time: Milliseconds },
  kept: {},
});
