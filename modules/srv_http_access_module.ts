import { accessRules, type Decision } from '../core/module/access-rules.js';
import { DECLINED, OK, type Handler, type HttpHandlers, type LocationScope } from '../core/module/http.js';
import { httpModule } from '../core/module/manifest.js';
import { clients } from '../core/module/network.js';
import { Log } from '../core/module/services.js';
import { directive } from '../core/module/spec.js';

const rule = directive({
  in: ['http', 'server', 'location', 'limit_except'],
  args: clients({ all: true }),
  many: true,
  dynamic: true,
  doc: 'Access rule for a client address; the first matching rule applies.',
});
const directives = { allow: rule, deny: rule };

type AccessScope = LocationScope<typeof directives>;

/** Access by client address (ngx_http_access_module). */
@httpModule({ name: 'srv_http_access_module', api: 1, directives })
export class Access {
  constructor(private readonly log: Log) {}

  /** The rules of the innermost level that has any count. */
  compile(scope: AccessScope): HttpHandlers | undefined {
    let level: AccessScope | undefined = scope;
    while (level !== undefined && !level.own('allow') && !level.own('deny')) level = level.parent as AccessScope | undefined;
    if (level === undefined) return undefined;
    const { allow, deny } = level.conf;
    const own = { allow: level.own('allow') ? allow : [], deny: level.own('deny') ? deny : [] };
    return { access: this.#check(accessRules(level.directive?.block ?? [], own)) };
  }

  #check(decide: Decision): Handler {
    return (request) => {
      const allowed = decide(request.connection.remoteAddress);
      if (allowed === undefined) return DECLINED;
      if (allowed) return OK;
      this.log.write('error', 'access forbidden by rule', request);
      return 403;
    };
  }
}
