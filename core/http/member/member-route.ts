import type { ExchangePlan } from '../../contract/exchanges.js';
import type { FieldFilter } from '../../net/http1/fields.js';
import type { HeadLimits } from '../../net/http1/message-head.js';
import type { Request } from '../request/request.js';
import type { StorePlan } from '../site/temporary-path.js';
import type { MemberStreams } from './member-stream.js';
import type { ResponseFields } from './response-fields.js';
import type { StoredHeads } from './stored-heads.js';

/** A compiled plan, as the parts of an exchange read it. */
export interface MemberRoute {
  readonly plan: ExchangePlan;
  readonly hidden: FieldFilter;
  /** proxy_pass_header says so: a member's Server or Date is passed on. The engine adds none of its own then, as nginx does not. */
  readonly passesServer: boolean;
  readonly passesDate: boolean;
  readonly passesContentType: boolean;
  readonly passesLastModified: boolean;
  readonly passesLocation: boolean;
  readonly headLimits: HeadLimits;
  /** Where responses of its members wait for slow clients. */
  readonly responseStore: StorePlan;
  /** Scratch of all routes, for the response that has just arrived. */
  readonly fields: ResponseFields;
  /** Heads that modules respond with. */
  readonly storedHeads: StoredHeads;
  readonly streams: MemberStreams;
  /** The request target that its members get. */
  target(request: Request): string;
}
