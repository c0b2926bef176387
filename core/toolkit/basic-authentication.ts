import type { Handler, HttpRequest, Scope } from '../contract/http.js';
import type { EngineTemplate } from '../contract/template.js';

/** HTTP Basic authentication for modules with directives of their own for it. */
export abstract class BasicAuthentication {
  static readonly service = 'srv.basic_authentication';
  /**
   * The access handler of `auth_basic` and `auth_basic_user_file`. It leaves the name of the user under {@link VERIFIED_USER}.
   * @param scope is compiled at the moment
   */
  abstract handler(scope: Scope, realm: EngineTemplate<HttpRequest>, file: EngineTemplate<HttpRequest>): Handler;
}
