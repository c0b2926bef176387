/** X-Accel fields of a member's response: what they tell the proxy. None of them reaches the client (HIDDEN of srv_http_proxy_module). */
import type { ResponseHead } from '../../net/http1/response-head.js';
import type { Request } from '../request/request.js';
import type { MemberRoute } from './member-route.js';
import { replaced } from './module-steps.js';
import { MemberField } from './response-fields.js';
import { cookiesRewritten, namedFields } from './upstream-head.js';

/** Fields of the member that the response it is replaced by gets as well (nginx). Its Content-Type is the type of a file that has none. */
const KEPT = ['content-disposition', 'set-cookie', 'cache-control', 'expires', 'accept-ranges'];

/** An exchange, as far as these fields concern it. */
interface Relayed {
  readonly request: Request;
  readonly route: MemberRoute;
  buffers: boolean;
  /** See {@link expiryOf}. */
  expires: number | undefined;
  leave(): void;
}

/** A segment that climbs. */
const CLIMBS = /(?:^|\/)\.\.(?:\/|$)/;

/** X-Accel-Redirect: another URI, or a named location, responds; internal ones too. */
export function accelRedirect(exchange: Relayed, head: ResponseHead): boolean {
  const { fields } = exchange.route;
  if (!fields.hasAccel) return false;
  const target = fields.value(head, MemberField.AccelRedirect);
  if (target === undefined) return false;
  const { request } = exchange;
  keepFields(request, exchange.route, head);
  replaced(request);
  exchange.leave();
  if (target.startsWith('@')) request.redirectNamed(target);
  else redirect(request, target);
  return true;
}

function keepFields(request: Request, route: MemberRoute, head: ResponseHead): void {
  const contentType = route.fields.value(head, MemberField.ContentType);
  for (const name of KEPT) {
    const lines = cookiesRewritten(request, route, namedFields(head, name)) ?? '';
    if (lines === '') continue;
    if (name !== 'set-cookie') request.response.remove(name);
    request.response.appendLines(lines);
  }
  if (contentType !== undefined && contentType !== '') request.keptType = contentType;
}

function redirect(request: Request, target: string): void {
  const { uri, log, flow } = request.context;
  const [path = ''] = target.split('?', 1);
  if (!path.startsWith('/') || CLIMBS.test(path.replaceAll(/%2e/gi, '.').replaceAll(/%2f/gi, '/')) || !uri.parse(target, false)) {
    log.write('error', `unsafe URI "${target}" was detected while reading response header from upstream`, request);
    flow.reject(request, 404);
    return;
  }
  if (request.method !== 'HEAD') request.method = 'GET';
  request.redirect(uri.path, uri.args);
}

/** X-Accel-Limit-Rate: how fast the response is sent, also the one that X-Accel-Redirect or error_page puts in its place (nginx). */
export function accelLimitRate({ route, request }: Relayed, head: ResponseHead): boolean {
  const rate = route.fields.hasAccel ? route.fields.value(head, MemberField.AccelLimitRate) : undefined;
  if (rate !== undefined && /^\d{1,15}$/.test(rate)) request.limitRate = Number(rate);
  return false;
}

/** X-Accel-Buffering and -Expires: how this response is delivered. */
export function accelSettings(exchange: Relayed, head: ResponseHead): boolean {
  const { fields, plan } = exchange.route;
  if (!fields.hasAccel) return false;
  const buffering = plan.ignored.has('x-accel-buffering') ? undefined : fields.value(head, MemberField.AccelBuffering)?.toLowerCase();
  if (buffering === 'yes' || buffering === 'no') exchange.buffers = buffering === 'yes';
  const expires = plan.ignored.has('x-accel-expires') ? undefined : fields.value(head, MemberField.AccelExpires);
  if (expires !== undefined) exchange.expires = expiryOf(expires, exchange.request.context.clock.now);
  return false;
}

/**
 * Value of X-Accel-Expires: seconds from now, 0 for not at all, or `@` and seconds since the epoch.
 * @returns epoch milliseconds, 0: not to be cached; undefined for anything else
 */
export function expiryOf(value: string, now: number): number | undefined {
  const [, at, digits] = /^(@?)(\d{1,12})$/.exec(value) ?? [];
  if (digits === undefined) return undefined;
  const ms = Number(digits) * 1000;
  return at === '@' || ms === 0 ? ms : now + ms;
}
