import { rulesIn, type AccessRule } from '../core/module/access-rules.js';
import type { ExplainHandler } from '../core/module/explain.js';
import { DECLINED, OK, type Handler, type HttpHandlers, type HttpRequest, type LocationScope, type Result } from '../core/module/http.js';
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
    const rules = rulesIn(level.directive?.block ?? [], own);
    return { access: this.#check(rules), explain: { access: explainRules(rules) } };
  }

  #check(rules: readonly AccessRule[]): Handler {
    return (request) => {
      const rule = ruleFor(request, rules);
      if (rule?.allows === false) this.log.write('error', 'access forbidden by rule', request);
      return resultOf(rule);
    };
  }
}

/** The first that fits decides. */
function ruleFor({ connection }: HttpRequest, rules: readonly AccessRule[]): AccessRule | undefined {
  return rules.find(({ fits }) => fits(connection.remoteAddress));
}

function resultOf(rule: AccessRule | undefined): Result {
  if (rule === undefined) return DECLINED;
  return rule.allows ? OK : 403;
}

function explainRules(rules: readonly AccessRule[]): ExplainHandler {
  return (request, notes) => {
    const rule = ruleFor(request, rules);
    const { remoteAddress: client } = request.connection;
    const written = rule && `${rule.line.name} ${rule.line.args[0]?.text ?? ''}`;
    if (written === undefined) notes.say(`no rule is about ${client}`);
    else notes.say(`"${written}" is the first rule for ${client}`, { rule: written, allows: rule?.allows });
    return resultOf(rule);
  };
}
