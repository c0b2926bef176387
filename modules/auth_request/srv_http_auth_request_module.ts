import { template, text, variableName } from '../../core/contract/args.js';
import { OK, type HttpHandlers, type HttpRequest, type Result, type Scope, type VariableGetter } from '../../core/contract/http.js';
import { httpModule } from '../../core/contract/manifest.js';
import { Log } from '../../core/contract/log.js';
import { directive } from '../../core/contract/spec.js';
import type { Directive } from '../../core/contract/tree.js';

const IN = ['http', 'server', 'location'] as const;

const directives = {
  auth_request: directive({
    in: IN,
    args: text('uri | off'),
    default: 'off',
    doc: 'Asks this URI of the server whether a request is allowed: 2xx allows, 401 and 403 deny, anything else is a 500.',
  }),
  auth_request_set: directive({
    in: IN,
    args: { variable: variableName(), value: template('value') },
    many: true,
    defines: ({ args }) => (args[0]?.text.startsWith('$') === true ? [args[0].text.slice(1)] : []),
    assigns: true,
    doc: 'Sets a variable when the subrequest is complete; variables in the value are those of the subrequest.',
  }),
};

/** Access by the result of a subrequest (ngx_http_auth_request_module). */
@httpModule({ name: 'srv_http_auth_request_module', api: 1, directives, after: 'srv_http_access_module' })
export class AuthRequest {
  constructor(private readonly log: Log) {}

  compile({ conf }: Scope<typeof directives>): HttpHandlers | undefined {
    const { auth_request: uri, auth_request_set: sets } = conf;
    if (uri === 'off') return undefined;
    return {
      access: async (request) => {
        const { status, request: subrequest } = await request.subrequest(uri, { limit: 0 });
        for (const { variable, value } of sets) request.assign(variable, value.of(subrequest));
        return this.#result(request, status, subrequest);
      },
      explain: {
        access: (_, notes) => {
          notes.say(`asks ${uri} whether the request is allowed`, { uri });
          notes.assume(`auth_request: ${uri} allows the request`);
          return OK;
        },
      },
    };
  }

  /** Nothing before the subrequest is complete. */
  compileVariables({ name, args }: Directive): Readonly<Record<string, VariableGetter>> | undefined {
    const variable = args[0]?.text.slice(1).toLowerCase();
    if (name !== 'auth_request_set' || variable === undefined) return undefined;
    return { [variable]: () => undefined };
  }

  #result(request: HttpRequest, status: number, subrequest: HttpRequest): Result {
    if (status >= 200 && status < 300) return OK;
    if (status === 403) return 403;
    if (status === 401) {
      const challenge = subrequest.variable('sent_http_www_authenticate');
      if (challenge !== undefined && challenge !== '') request.response.set('WWW-Authenticate', challenge);
      return 401;
    }
    this.log.write('error', `auth request unexpected status: ${status} while sending to client`, request);
    return 500;
  }
}
