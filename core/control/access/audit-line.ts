import type { ApiCall } from '../api-call.js';

/** A line of the audit log: JSON. What was sent in bodies and queries is not in it. */
export function auditLine({ method, href, requestId, client, caller, trail }: ApiCall, status: number, now = new Date()): string {
  const { route, isDryRun, change, code } = trail;
  return JSON.stringify({
    time: now.toISOString(),
    actor: caller.actor,
    auth: caller.by,
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
