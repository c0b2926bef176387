import { DECLINED, OK, type Handler, type HttpHandlers, type LocationScope } from '../core/module/http.js';
import { httpModule } from '../core/module/manifest.js';
import { clients, type Clients } from '../core/module/network.js';
import { Log } from '../core/module/services.js';
import { directive } from '../core/module/spec.js';

const rule = directive({
  in: ['http', 'server', 'location', 'limit_except'],
  args: clients({ all: true }),
  many: true,
  doc: 'The first rule that fits the client decides.',
});
const directives = { allow: rule, deny: rule };

interface Rule {
  readonly allow: boolean;
  readonly fits: Clients;
}

/** Access by client address (ngx_http_access_module). */
@httpModule({ name: 'srv_http_access_module', api: 1, directives })
export class Access {
  constructor(private readonly log: Log) {}

  compile(scope: LocationScope<typeof directives>): HttpHandlers | undefined {
    const rules = this.#rules(scope);
    return rules.length === 0 ? undefined : { access: this.#check(rules) };
  }

  /** The rules of the innermost level that has any, in the order they are written: allow and deny are one list. */
  #rules(scope: LocationScope<typeof directives>): Rule[] {
    let level: LocationScope<typeof directives> | undefined = scope;
    while (level !== undefined && !level.own('allow') && !level.own('deny'))
      level = level.parent as LocationScope<typeof directives> | undefined;
    if (level === undefined) return [];
    const { allow, deny } = level.conf;
    const allows = level.own('allow') ? [...allow] : [];
    const denies = level.own('deny') ? [...deny] : [];
    const rules: Rule[] = [];
    for (const { name } of level.directive?.block ?? []) {
      const fits = name === 'allow' ? allows.shift() : name === 'deny' ? denies.shift() : undefined;
      if (fits !== undefined) rules.push({ allow: name === 'allow', fits });
    }
    return rules;
  }

  #check(rules: readonly Rule[]): Handler {
    return (request) => {
      const { remoteAddress } = request.connection;
      const found = rules.find((candidate) => candidate.fits(remoteAddress));
      if (found === undefined) return DECLINED;
      if (found.allow) return OK;
      this.log.write('error', 'access forbidden by rule', request);
      return 403;
    };
  }
}
