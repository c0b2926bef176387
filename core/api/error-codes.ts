/** Every error code of the API: stable names for clients. docs/api.md has the same table; a test compares. */
export interface ErrorCode {
  readonly status: number;
  /** The status when `handler_timeout` ends the call. */
  readonly timeoutStatus?: number;
  /** The status when what the call is about is of the configuration file. */
  readonly fileStatus?: number;
  readonly meaning: string;
  /** Remedy for the caller. */
  readonly remedy: string;
}

export const ERROR_CODES = {
  JsonError: {
    status: 400,
    meaning:
      'The body is missing, not JSON in UTF-8, has an object with a duplicate key or more than 10,000 keys, or more than 100 levels.',
    remedy: 'Send a JSON body; `details` has the position of the error.',
  },
  BadRequest: {
    status: 400,
    meaning: 'The HTTP request is malformed.',
    remedy: 'Send a valid HTTP/1.1 request; the error log has the reason at level `info`.',
  },
  InvalidField: {
    status: 400,
    meaning: 'Fields or query parameters are unknown, of the wrong type or out of range.',
    remedy: '`details` has a JSON pointer and the reason for each of them.',
  },
  ConfigError: {
    status: 400,
    meaning: 'The resulting configuration is invalid.',
    remedy: '`details` has every error, with line and column in the text that was sent.',
  },
  CertificateInvalid: {
    status: 400,
    meaning: 'A certificate has expired, cannot be read, or does not fit its key.',
    remedy: '`details` has every reason; send a chain and its key in PEM, that of the server first.',
  },
  UpstreamStatic: {
    status: 400,
    fileStatus: 409,
    meaning: 'The upstream has no `zone` (400), or is of the configuration file (409), and cannot be changed at run time.',
    remedy: 'Add a `zone` to it in the configuration; change the file and reload, or send `?force=1`.',
  },
  UpstreamBadServerId: {
    status: 400,
    meaning: 'The id of a member is neither a number nor an address.',
    remedy: 'Use the `id` or the `server` of a member, as GET lists them.',
  },
  UpstreamBadAddress: {
    status: 400,
    meaning: 'The address of a member is malformed, or a unix socket that is not allowed.',
    remedy: 'Use `ip:port`, `[v6]:port`, `name:port`, or `unix:/path` below a folder of `api_unix_members`.',
  },
  UpstreamConfNoResolver: {
    status: 400,
    meaning: 'A member has a host name or a `service`, and the upstream has no resolver.',
    remedy: 'Use an IP address, or give the upstream a `resolver`.',
  },
  UpstreamNoBackup: {
    status: 400,
    meaning: 'The balancing method of the upstream does not support backup servers.',
    remedy: 'Leave out `backup`, or use a method other than hash, ip_hash or random.',
  },
  UpstreamServerImmutable: {
    status: 400,
    meaning: 'A member that was resolved from a host name cannot be removed or changed.',
    remedy: 'Change its `parent`, the member with the host name.',
  },
  NotTransactional: {
    status: 400,
    meaning:
      'The call cannot be part of a transaction: it changes more than the configuration (keys and values, actions of modules that do not declare it), is a transaction itself, or a rollback after another change.',
    remedy: 'Send it alone.',
  },
  Unauthorized: {
    status: 401,
    meaning: 'The client has not authenticated, or its token or password is not valid.',
    remedy: 'Send `Authorization: Bearer TOKEN`; `srv token add` creates a token, which is valid after a reload.',
  },
  AccessDenied: {
    status: 403,
    meaning: 'The access rules (`api_limit_except`, `deny`) do not allow this client or method.',
    remedy: 'Use an allowed method, or call from an allowed address.',
  },
  InsufficientScope: {
    status: 403,
    meaning: 'The token or certificate is not allowed to make this call.',
    remedy: '`details` has the scope that is `needed`, and the scopes that are `granted`.',
  },
  ReadOnly: {
    status: 403,
    meaning: 'The API only allows calls that change nothing (`api_read_only`).',
    remedy: 'Use a dry run, or the API of another listener.',
  },
  ForbiddenHost: {
    status: 403,
    meaning: 'The `Host` of the request is not a name of this API.',
    remedy: 'Use localhost, the address of the listener, or a `server_name` of the server.',
  },
  ForbiddenOrigin: {
    status: 403,
    meaning: 'The request was sent by a web page of another site.',
    remedy: 'Call the API from a page of its own origin, or from a program.',
  },
  PathNotFound: {
    status: 404,
    meaning: 'The API has no such path.',
    remedy: 'See `openapi.html`; load the module of the feature in the control plane.',
  },
  ServerNotFound: {
    status: 404,
    meaning: 'There is no virtual server with this address and name.',
    remedy: 'Use an address of `listen` and a name of `server_name`.',
  },
  LocationNotFound: {
    status: 404,
    meaning: 'The server has no location with this rule and name.',
    remedy: 'GET the locations of the server; `within` names the locations around a nested one.',
  },
  CertificateNotFound: {
    status: 404,
    meaning: 'A server has no certificate of this kind that was set by API.',
    remedy: 'GET the certificates: those of the configuration file are changed there.',
  },
  UpstreamNotFound: { status: 404, meaning: 'There is no upstream with this name.', remedy: 'GET the list of upstreams.' },
  UpstreamServerNotFound: {
    status: 404,
    meaning: 'The upstream has no member with this id or address.',
    remedy: 'GET the members; ids of removed members are not reused.',
  },
  StatisticsNotFound: {
    status: 404,
    meaning: 'There are no statistics of this name.',
    remedy: 'GET /v1/vts; a server without requests since it was added has some, an upstream has not.',
  },
  HealthCheckNotFound: {
    status: 404,
    meaning: 'The upstream has no health check of this type.',
    remedy: 'GET the list of health checks; PUT adds one.',
  },
  VersionNotFound: {
    status: 404,
    meaning: 'The history does not have this version.',
    remedy: 'GET the history: the last 1,000 changes are kept.',
  },
  CacheZoneNotFound: { status: 404, meaning: 'The data plane has no cache of this name.', remedy: 'GET the list of caches.' },
  CacheEntryNotFound: {
    status: 404,
    meaning: 'No response is stored with this key.',
    remedy: 'The key is what `proxy_cache_key` says; the default is `$scheme$proxy_host` and the URI that members get.',
  },
  WorkerNotFound: { status: 404, meaning: 'There is no worker with this number.', remedy: 'GET /v1/workers.' },
  KeyNotFound: { status: 404, meaning: 'The key-value store does not have this key.', remedy: 'GET the list of keys.' },
  MethodNotAllowed: {
    status: 405,
    meaning: 'The path does not support this method.',
    remedy: 'Use a method that the `Allow` header lists.',
  },
  RequestTimeout: {
    status: 408,
    meaning: 'The request did not arrive in time.',
    remedy: 'Send the whole request without a pause (`client_header_timeout`, `client_body_timeout`).',
  },
  ProfileRunning: {
    status: 409,
    meaning: 'The worker is being profiled already, or a heap snapshot is being made or read.',
    remedy: 'Wait until the other one is complete.',
  },
  EntryExists: { status: 409, meaning: 'The entry already exists.', remedy: 'Change the existing entry, which `details` names.' },
  LocationStatic: {
    status: 409,
    meaning: 'The location is in the configuration file.',
    remedy: 'Change the file and reload, or send `?force=1`.',
  },
  ServerStatic: {
    status: 409,
    meaning: 'The virtual server is in the configuration file.',
    remedy: 'Change the file and reload, or send `?force=1`.',
  },
  UpstreamInUse: {
    status: 409,
    meaning: 'Locations or servers pass requests to the upstream.',
    remedy: 'Change or remove them first; `details` names them.',
  },
  ListenFailed: {
    status: 409,
    meaning: 'The address of the server cannot be listened on; nothing was changed.',
    remedy: '`text` has the reason: use another port, or stop the program that has it.',
  },
  EngineMissing: {
    status: 409,
    meaning: 'The configuration has no block of the traffic engine.',
    remedy: 'Add `stream { }` to the configuration file and reload.',
  },
  RollbackImpossible: {
    status: 409,
    meaning: 'A change since that version cannot be reverted.',
    remedy: '`text` has the reason; roll back to a later version, or change the configuration by hand.',
  },
  FileEdited: {
    status: 409,
    meaning: 'The configuration file was edited since it was read: saving would mix two states.',
    remedy: 'Reload, or undo the edit; then save again.',
  },
  FileNotWritable: {
    status: 409,
    meaning: 'The server may not write a file of the configuration, or its folder; nothing was saved.',
    remedy: 'Let the user that the server runs as write both, or copy the lines of `/config/drift` into the file and reload.',
  },
  SaveImpossible: {
    status: 409,
    meaning: 'A change cannot be written into the files, or srv could not be started with them; nothing was saved.',
    remedy: '`text` has the reason: make this change in the file by hand and reload, or correct what a start would reject.',
  },
  ChangedMeanwhile: {
    status: 409,
    meaning: 'The target was removed by a concurrent change, or changes of other nodes came first again and again.',
    remedy: 'GET the current state and try again.',
  },
  NotClustered: {
    status: 409,
    meaning: 'The call is about the nodes of a cluster, and this node changes its configuration alone.',
    remedy: 'Set `cluster_changes` (docs/cluster.md).',
  },
  ClusterKeyMissing: {
    status: 409,
    meaning: 'The change has a private key, and changes travel to other nodes unencrypted; nothing was changed.',
    remedy: 'Set `cluster_key_file` on all nodes, with the same key.',
  },
  VersionMismatch: {
    status: 412,
    meaning: 'A precondition of `If-Match` or `If-None-Match` failed.',
    remedy: 'GET the resource and try again with its current `ETag`.',
  },
  BodyTooLarge: {
    status: 413,
    meaning: 'The body is too long: 5 MiB, 32 MiB for PUT of all members, for settings and for transactions.',
    remedy: 'Split the change.',
  },
  KeyTooLong: { status: 413, meaning: 'The key is too long.', remedy: 'Use a shorter key, or raise `max_key`.' },
  ValueTooLarge: {
    status: 413,
    meaning: 'The value is too long.',
    remedy: 'Use a shorter value, or raise `max_value`.',
  },
  UriTooLong: {
    status: 414,
    meaning: 'The request line is too long.',
    remedy: 'Send shorter names, or raise `large_client_header_buffers`.',
  },
  UnsupportedMediaType: { status: 415, meaning: 'The body is not `application/json`.', remedy: 'Send `Content-Type: application/json`.' },
  NotApplied: {
    status: 424,
    meaning: 'The call is part of a transaction in which another call failed: it was not carried out.',
    remedy: 'See the calls that failed.',
  },
  TooManyAttempts: {
    status: 429,
    meaning: 'The client address has made too many failed attempts to authenticate.',
    remedy: 'Wait for `Retry-After` and use a valid token (`api_failed_attempts`).',
  },
  InternalError: {
    status: 500,
    meaning: 'Unexpected internal error.',
    remedy: 'Look up `request_id` in the error log and report it.',
  },
  ResponseTooLong: {
    status: 500,
    meaning: 'The response exceeds the control-bus message limit.',
    remedy: 'List in pages with `?limit=`, or get a single upstream or member.',
  },
  NotLoaded: {
    status: 501,
    meaning: 'The module that serves this call is not loaded in the data plane.',
    remedy: '`details` has the `load_module` line for the configuration of the data plane; `srv -t` warns of it as well.',
  },
  DataPlaneUnavailable: {
    status: 503,
    timeoutStatus: 504,
    meaning: 'The data plane is not connected or did not respond in time; `text` says what became of the change.',
    remedy: 'Wait for `Retry-After`, GET the current state, try again.',
  },
  TooManyStreams: {
    status: 503,
    meaning: 'As many clients follow the events, the logs or the statistics as the control plane allows.',
    remedy: 'Close streams that are not needed, or read the events from the bus.',
  },
  WorkerUnavailable: {
    status: 503,
    meaning: 'The worker has not replied in time, or has ended meanwhile.',
    remedy: 'GET /v1/workers: a worker that hangs is replaced; try again.',
  },
  AccessUnavailable: {
    status: 503,
    meaning: 'The user name and password cannot be checked.',
    remedy: 'See the error log: the file of users cannot be read, or too many passwords are being checked.',
  },
  ClusterPending: {
    status: 503,
    meaning: 'Not all nodes that are alive have applied a version in time; `details` has the state of each.',
    remedy: 'Wait, or see `/v1/cluster` for the reason.',
  },
  NodeDiverged: {
    status: 503,
    meaning: 'This node cannot apply a change of another node, and makes none until it can; nothing was changed.',
    remedy: '`text` has the reason: a module or a file that this node lacks, a port that is taken. Resolve it, and reload.',
  },
  StoreUnavailable: {
    status: 503,
    meaning: 'The data folder was removed or is not writable, or Redis is away. `text` says whether something was changed.',
    remedy: 'See the error log; restore the folder, or restart. Wait for Redis: the node connects by itself.',
  },
  SharedPoolExhausted: {
    status: 507,
    meaning: 'The shared memory for zones of dynamic upstreams is exhausted.',
    remedy: 'Raise `shared_slab_pool_size` and reload, or delete upstreams.',
  },
  HeapFull: {
    status: 507,
    meaning: "The configuration is too large for the workers' heap.",
    remedy: 'Raise `worker_heap_size` and restart, or remove members.',
  },
  ZoneFull: {
    status: 507,
    meaning: 'The shared memory zone of the upstream is full.',
    remedy: 'Raise the size of the `zone` and reload.',
  },
  StoreFull: {
    status: 507,
    meaning: 'The key-value store or its disk is full.',
    remedy: 'Delete keys, raise `max_size` or `worker_heap_size`; free disk space, which deleting keys requires as well.',
  },
} as const satisfies Readonly<Record<string, ErrorCode>>;
