import type { ApiCall } from '../api-call.js';

/** What the audit log says of a call. */
export type AuditedCall = Pick<ApiCall, 'method' | 'href' | 'requestId' | 'client'> &
  Pick<ApiCall['caller'], 'actor' | 'by'> & { readonly trail?: ApiCall['trail'] };

/** A line of the audit log: JSON. What was sent in bodies and queries is not in it. */
export function auditLine({ method, href, requestId, client, actor, by, trail }: AuditedCall, status: number, now = new Date()): string {
  const { route, isDryRun = false, change, code } = trail ?? {};
  return JSON.stringify({
    time: now.toISOString(),
    actor,
    auth: by,
    client,
    request_id: requestId,
    method,
    path: href,
    route,
    status,
    code,
    ...(isDryRun && { dry_run: true }),
    ...(change && { version: change.version, changes: change.summary, count: change.count }),
  });
}
