import { keptFields } from '../../net/http1/fields.js';
import type { ResponseHead } from '../../net/http1/response-head.js';
import { OwnField } from '../request/context.js';
import type { Request } from '../request/request.js';
import type { MemberRoute } from './member-route.js';
import { MemberField } from './response-fields.js';
import { namedFields, STATUS_AT } from './upstream-head.js';

/** A head as it is in the response of any request. */
interface Adopted {
  readonly status: number;
  /** Empty: it has no reason. */
  readonly statusLine: string;
  readonly lines: string;
  readonly contentType: string;
  readonly lastModified: string;
  readonly location: string;
  readonly date: string;
}

/** Heads that are remembered: a route keeps 4 MB of them at most. */
const REMEMBERED = 1024;
/** Characters of the longest of them. */
const LONGEST = 2048;

/** Heads that modules respond with again and again, as one route adopts them: they are read once. */
export class StoredHeads {
  /** Made with the first head: few of many routes have one. */
  #known: Map<string, Adopted> | undefined = undefined;

  /** Makes the head that of the response, as it did before. False: it has to be read. */
  adopt(request: Request, route: MemberRoute, text: string, keepsDate: boolean): boolean {
    const head = this.#known?.get(text);
    if (head === undefined) return false;
    const { response } = request;
    request.status = head.status;
    request.statusLine = head.statusLine;
    response.allowsRanges = route.plan.forceRanges;
    response.appendLines(keepsDate && head.date !== '' ? head.lines + head.date : head.lines);
    if (response.contentType === '') response.contentType = head.contentType;
    if (response.lastModified === '') response.lastModified = head.lastModified;
    if (response.location === '') response.location = head.location;
    if (route.passesServer) request.ownFields &= ~OwnField.Server;
    if (route.passesDate || (keepsDate && head.date !== '')) request.ownFields &= ~OwnField.Date;
    return true;
  }

  /** @param head in the scratch, with its fields in `route.fields` */
  remember(route: MemberRoute, head: ResponseHead): void {
    const { fields, plan } = route;
    // Some fields depend on the request.
    if (head.text.length > LONGEST || fields.hasAccel || fields.hasRedirect || plan.rewriteCookie !== undefined) return;
    const known = (this.#known ??= new Map());
    if (known.size >= REMEMBERED) known.delete(known.keys().next().value as string);
    const upgrade = head.upgradeField ? namedFields(head, 'upgrade') : '';
    known.set(head.text, {
      status: head.status,
      statusLine: head.reasonEnd > head.reasonStart ? head.text.slice(STATUS_AT, head.reasonEnd) : '',
      lines: keptFields(head.text, head, route.hidden) + upgrade,
      contentType: route.passesContentType ? fields.line(head, MemberField.ContentType) : '',
      lastModified: route.passesLastModified ? fields.line(head, MemberField.LastModified) : '',
      location: route.passesLocation ? fields.line(head, MemberField.Location) : '',
      date: route.passesDate ? '' : fields.line(head, MemberField.Date),
    });
  }
}
