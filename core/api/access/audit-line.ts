import type { ApiCall } from '../api-call.js';

/** Fields of a call in the audit log. */
export type AuditedCall = Pick<ApiCall, 'method' | 'href' | 'requestId' | 'client'> &
  Pick<ApiCall['caller'], 'actor' | 'by'> & { readonly trail?: ApiCall['trail'] };

/** A line of the audit log: JSON, without the content of bodies and queries. */
export function auditLine({ method, href, requestId, client, actor, by, trail }: AuditedCall, status: number, now = new Date()): string {
  const { route, isDryRun = false, message, change, code } = trail ?? {};
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
    message,
    ...(isDryRun && { dry_run: true }),
    ...(change && { version: change.version, changes: change.summary, count: change.count }),
  });
}
