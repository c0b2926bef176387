/** An entry of `/v1/logs/stream`; which fields there are depends on its kind. */
interface Entry {
  readonly kind: 'access' | 'error' | 'lost';
  readonly time: string;
  readonly count?: number;
  readonly reason?: string;
  readonly level?: string;
  readonly message?: string;
  readonly status?: number;
  readonly method?: string;
  readonly host?: string;
  readonly uri?: string;
  readonly duration?: number;
  readonly bytes?: number;
  readonly client?: string;
  readonly server?: string;
  readonly upstream?: string;
  readonly cache?: string;
  readonly request?: string;
  readonly request_id?: string;
}

/** One line for people. @param data JSON */
export function logLine(data: string): string {
  const entry = JSON.parse(data) as Entry;
  const time = entry.time.slice(11, 23);
  if (entry.kind === 'lost') return `${time}  ${entry.count ?? 0} lines are missing: ${entry.reason ?? ''}`;
  return `${time}  ${(entry.kind === 'access' ? accessWords(entry) : errorWords(entry)).filter((word) => word !== '').join('  ')}`;
}

function accessWords({
  status,
  method,
  host,
  uri,
  duration = 0,
  bytes,
  client,
  upstream,
  cache,
  request_id: id,
}: Entry): readonly string[] {
  return [
    String(status),
    `${method ?? ''} ${host ?? ''}${uri ?? ''}`,
    `${Math.round(duration * 1000)}ms`,
    `${bytes ?? 0}B`,
    client ?? '',
    upstream === undefined ? '' : `-> ${upstream}`,
    cache ?? '',
    id ?? '',
  ];
}

function errorWords({ level, message, client, server, request, upstream, request_id: id }: Entry): readonly string[] {
  return [
    `[${level ?? ''}]`,
    message ?? '',
    client ?? '',
    server ?? '',
    request === undefined ? '' : `"${request}"`,
    upstream === undefined ? '' : `-> ${upstream}`,
    id ?? '',
  ];
}
