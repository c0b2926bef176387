/** Every error code an answer of the API may have: stable names that clients go by. docs/api.md has the same table; a test compares. */
export interface ErrorCode {
  readonly status: number;
  readonly meaning: string;
  /** What the caller can do about it. */
  readonly remedy: string;
}

export const ERROR_CODES = {
  JsonError: {
    status: 400,
    meaning: 'The body is missing or not JSON in UTF-8.',
    remedy: 'Send a JSON body; `details` has the position of the mistake.',
  },
  InvalidField: {
    status: 400,
    meaning: 'Fields or query parameters are unknown, of the wrong type or out of range.',
    remedy: '`details` has a JSON pointer and the reason for each of them.',
  },
  ConfigError: {
    status: 400,
    meaning: 'The configuration that would result is refused.',
    remedy: '`details` has every reason, with line and column in the text that was sent.',
  },
  UpstreamStatic: {
    status: 400,
    meaning: 'The upstream has no `zone`, so it cannot be changed at run time.',
    remedy: 'Add a `zone` to it in the configuration.',
  },
  UpstreamBadServerId: {
    status: 400,
    meaning: 'The id of a member is not a number.',
    remedy: 'Use the `id` of a member, as GET lists it.',
  },
  UpstreamBadAddress: {
    status: 400,
    meaning: 'The address of a member is malformed.',
    remedy: 'Use `ip:port`, `[v6]:port`, `unix:/path` or `name:port`.',
  },
  UpstreamConfNoResolver: {
    status: 400,
    meaning: 'A member is a name, and the upstream has no resolver to look it up.',
    remedy: 'Add a `resolver` to the upstream, or use an address.',
  },
  UpstreamNoBackup: {
    status: 400,
    meaning: 'The balancing method of the upstream knows no backup members.',
    remedy: 'Leave `backup` out, or use another method than hash, ip_hash or random.',
  },
  UpstreamServerImmutable: {
    status: 400,
    meaning: 'A member that a name was resolved to cannot be removed or get another address.',
    remedy: 'Change the member with the name: its `parent`.',
  },
  AccessDenied: {
    status: 403,
    meaning: 'The rules of `api_limit_except` refuse this client.',
    remedy: 'Use an address or a method that the rules allow.',
  },
  ForbiddenHost: {
    status: 403,
    meaning: 'The Host of the request is not a name of this API.',
    remedy: 'Use localhost, the address of the listener, or one of its server names.',
  },
  ForbiddenOrigin: {
    status: 403,
    meaning: 'A web page of another site sent the request.',
    remedy: 'Call the API from a page of its own origin, or from a program.',
  },
  PathNotFound: {
    status: 404,
    meaning: 'There is no such path in this API.',
    remedy: 'See `openapi.json`; the module of the feature has to be loaded in the control plane.',
  },
  UpstreamNotFound: { status: 404, meaning: 'There is no upstream of that name.', remedy: 'GET the list of upstreams.' },
  UpstreamServerNotFound: {
    status: 404,
    meaning: 'The upstream has no member of that id.',
    remedy: 'GET the members; ids of removed members are not used again.',
  },
  KeyNotFound: { status: 404, meaning: 'The key-value store has no such key.', remedy: 'GET the list of keys.' },
  MethodNotAllowed: { status: 405, meaning: 'The path does not know this method.', remedy: 'The `Allow` header names those it knows.' },
  EntryExists: { status: 409, meaning: 'What was to be added is there already.', remedy: '`details` names the one that is there.' },
  ChangedMeanwhile: {
    status: 409,
    meaning: 'What the change is about was removed while the call was under way.',
    remedy: 'GET the state and try again.',
  },
  VersionMismatch: {
    status: 412,
    meaning: 'What `If-Match` or `If-None-Match` asks for does not hold: it was changed, or is there already.',
    remedy: 'GET it again, and try again with the new `ETag`.',
  },
  BodyTooLarge: { status: 413, meaning: 'The body is longer than 5 MiB.', remedy: 'Split the change.' },
  KeyTooLong: { status: 413, meaning: 'The key is longer than the store allows.', remedy: 'Use a shorter key, or raise `max_key`.' },
  ValueTooLarge: {
    status: 413,
    meaning: 'The value is longer than the store allows.',
    remedy: 'Use a shorter value, or raise `max_value`.',
  },
  UnsupportedMediaType: { status: 415, meaning: 'The body is not `application/json`.', remedy: 'Send `Content-Type: application/json`.' },
  InternalError: {
    status: 500,
    meaning: 'The server failed in a way that nobody expected.',
    remedy: 'Look up the `request_id` in the error log, and report it.',
  },
  AnswerTooLong: {
    status: 500,
    meaning: 'The answer would be longer than the planes can exchange.',
    remedy: 'Ask for less with `?fields=`, or for a single group or member.',
  },
  NotLoaded: {
    status: 501,
    meaning: 'The data plane has not loaded the module that serves this call.',
    remedy: 'Add its `load_module` line to the configuration of the data plane.',
  },
  DataPlaneUnavailable: {
    status: 503,
    meaning: 'The data plane is away or did not answer in time; `text` says what is known of the change.',
    remedy: 'GET the state, and try again.',
  },
  StoreUnavailable: {
    status: 503,
    meaning: 'The data folder was removed, or cannot be written: the change could not be kept, and was not made.',
    remedy: 'See the error log; put the folder back as it was, or restart.',
  },
  SharedPoolExhausted: {
    status: 507,
    meaning: 'The shared memory for the zones of dynamic upstreams has no room for this one.',
    remedy: 'Raise `shared_slab_pool_size` in the configuration and reload, or delete upstreams.',
  },
  HeapFull: {
    status: 507,
    meaning: 'The workers have no heap for a configuration of that many directives.',
    remedy: 'Raise `worker_heap_size` in the configuration and restart, or remove members.',
  },
  ZoneFull: {
    status: 507,
    meaning: 'The shared memory zone of the upstream has no room for this change.',
    remedy: 'Give the `zone` a larger size in the configuration, and reload.',
  },
  StoreFull: {
    status: 507,
    meaning: 'The key-value store or the disk below it is full.',
    remedy: 'Delete keys, raise `max_size` or `worker_heap_size`; make room on the disk, without which no key can be deleted either.',
  },
} as const satisfies Readonly<Record<string, ErrorCode>>;
