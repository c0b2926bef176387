import { AccessRules, ruleFor, type AccessRule } from '../../core/toolkit/access-rules.js';
import type { ExplainHandler } from '../../core/contract/explain.js';
import { DECLINED, OK, type Handler, type HttpHandlers, type LocationScope, type Result } from '../../core/contract/http.js';
import { httpModule } from '../../core/contract/manifest.js';
import { clients } from '../../core/contract/network.js';
import { Log } from '../../core/contract/log.js';
import { directive } from '../../core/contract/spec.js';

const rule = directive({
  in: ['http', 'server', 'location', 'limit_except'],
  args: clients({ all: true }),
  many: true,
  dynamic: true,
  doc: 'Access rule for a client address; the first matching rule applies.',
});
const directives = { allow: rule, deny: rule };

/** Access by client address (ngx_http_access_module). */
@httpModule({ name: 'srv_http_access_module', api: 1, directives })
export class Access {
  readonly #rules = new AccessRules();

  constructor(private readonly log: Log) {}

  compile(scope: LocationScope<typeof directives>): HttpHandlers | undefined {
    const rules = this.#rules.inForce(scope);
    return rules && { access: this.#check(rules), explain: { access: explainRules(rules) } };
  }

  #check(rules: readonly AccessRule[]): Handler {
    return (request) => {
      const rule = ruleFor(request.connection.remoteAddress, rules);
      if (rule?.allows === false) this.log.write('error', 'access forbidden by rule', request);
      return resultOf(rule);
    };
  }
}

function resultOf(rule: AccessRule | undefined): Result {
  if (rule === undefined) return DECLINED;
  return rule.allows ? OK : 403;
}

function explainRules(rules: readonly AccessRule[]): ExplainHandler {
  return (request, notes) => {
    const { remoteAddress: client } = request.connection;
    const rule = ruleFor(client, rules);
    const written = rule && `${rule.line.name} ${rule.line.args[0]?.text ?? ''}`;
    if (written === undefined) notes.say(`no rule is about ${client}`);
    else notes.say(`"${written}" is the first rule for ${client}`, { rule: written, allows: rule?.allows });
    return resultOf(rule);
  };
}
