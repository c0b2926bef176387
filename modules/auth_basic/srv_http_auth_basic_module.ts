import { template } from '../../core/contract/args.js';
import { leavesFolder, pathTemplate } from '../../core/contract/path-template.js';
import { BasicAuthentication } from '../../core/toolkit/basic-authentication.js';
import type { ExplainHandler } from '../../core/contract/explain.js';
import {
  DECLINED,
  OK,
  type Handler,
  type HttpHandlers,
  type HttpRequest,
  type Result,
  type Scope,
  type Template,
} from '../../core/contract/http.js';
import { httpModule } from '../../core/contract/manifest.js';
import type { InputFile } from '../../core/contract/resource.js';
import { Log } from '../../core/contract/log.js';
import { directive } from '../../core/contract/spec.js';
import { systemErrorText } from '../../core/contract/system-error.js';
import { SystemFiles } from '../../core/contract/system-files.js';
import { VERIFIED_USER } from '../../core/contract/verified-user.js';
import { challenge, parseCredentials, type Credentials } from './credentials.js';
import { NamedUserFiles } from './named-files.js';
import { Passwords } from './passwords.js';
import { decoyFor, FORMS_HINT, parseUsers, textOf, type BadLine, type Users } from './user-file.js';

const IN = ['http', 'server', 'location', 'limit_except'] as const;

const directives = {
  auth_basic: directive({
    in: IN,
    args: template('string | off'),
    default: 'off',
    dynamic: true,
    doc: 'Requires a user name and a password (HTTP Basic authentication); the text is the realm that clients show.',
  }),
  auth_basic_user_file: directive({
    in: IN,
    args: pathTemplate('file', 'conf'),
    dynamic: true,
    doc: 'File with users and hashes of their passwords, as htpasswd writes it. It is read at start and at reload, with variables in its path for each request.',
  }),
};

/** The users of a request, and the path of the file for the log. */
interface UserSource {
  /** Undefined: variables lead out of its folder. */
  readonly path: (request: HttpRequest) => string | undefined;
  /** Undefined: the file is read for each request. */
  readonly users: Users | undefined;
}

/** Access with user name and password (ngx_http_auth_basic_module). */
@httpModule({
  name: 'srv_http_auth_basic_module',
  api: '1.2',
  directives,
  after: 'srv_http_access_module',
  before: 'srv_http_auth_request_module',
  provides: [BasicAuthentication],
})
export class AuthBasic implements BasicAuthentication {
  #passwords: Passwords | undefined;
  readonly #named: NamedUserFiles;

  constructor(
    private readonly log: Log,
    files: SystemFiles,
  ) {
    this.#named = new NamedUserFiles(files);
  }

  async stop(): Promise<void> {
    await this.#passwords?.stop();
  }

  compile(scope: Scope<typeof directives>): HttpHandlers | undefined {
    const { auth_basic: realm, auth_basic_user_file: file } = scope.conf;
    if (realm.constant === 'off' || file === undefined) return undefined;
    return { access: this.handler(scope, realm, file), explain: { access: explainAccess(realm) } };
  }

  handler(scope: Scope, realm: Template, file: Template): Handler {
    const { path, users } = sourceOf(file, scope);
    return (request) => {
      const realmText = realm.of(request);
      if (realmText === 'off') return DECLINED;
      const credentials = credentialsOf(request);
      if (credentials === undefined) {
        this.log.write('info', 'no user/password was provided for basic authentication', request);
        return reject(request, realmText);
      }
      const name = path(request);
      if (name === undefined) {
        this.log.write('error', 'the file of users is outside of its folder', request);
        return 403;
      }
      return users === undefined
        ? this.#checkIn(name, credentials, realmText, request)
        : this.#check(users, name, credentials, realmText, request);
    };
  }

  #check(users: Users, path: string, credentials: Credentials, realm: string, request: HttpRequest): Result | Promise<Result> {
    const user = users.byName.get(credentials.user);
    const checked = user ?? decoyFor(credentials.user, users);
    this.#passwords ??= new Passwords();
    const isRight = checked === undefined ? false : this.#passwords.check(credentials, checked, user !== undefined);
    if (isRight === undefined) {
      this.log.write('error', 'too many passwords are being checked', request);
      return 503;
    }
    const result = (right: boolean): Result => {
      if (user !== undefined && right) {
        // They are for this proxy, and not for the member.
        if (request.isForProxy) request.upstream.remove('proxy-authorization');
        request.set(VERIFIED_USER, textOf(credentials.user));
        return OK;
      }
      const name = textOf(credentials.user);
      this.log.write(
        'error',
        user === undefined ? `user "${name}" was not found in "${path}"` : `user "${name}": password mismatch`,
        request,
      );
      return reject(request, realm);
    };
    return typeof isRight === 'boolean' ? result(isRight) : isRight.then(result);
  }

  #checkIn(path: string, credentials: Credentials, realm: string, request: HttpRequest): Result | Promise<Result> {
    try {
      const users = this.#named.find(path);
      if (users !== undefined) return this.#check(users, path, credentials, realm, request);
    } catch (error) {
      return this.#unreadable(path, error, request);
    }
    return this.#readAndCheck(path, credentials, realm, request);
  }

  async #readAndCheck(path: string, credentials: Credentials, realm: string, request: HttpRequest): Promise<Result> {
    const report = ({ line, message }: BadLine): void => this.log.write('error', `${message} in ${path}:${line}`, request);
    let users: Users;
    try {
      users = await this.#named.read(path, report);
    } catch (error) {
      return this.#unreadable(path, error, request);
    }
    return this.#check(users, path, credentials, realm, request);
  }

  #unreadable(path: string, error: unknown, request: HttpRequest): Result {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    this.log.write(isMissing ? 'error' : 'crit', `open() "${path}" failed (${systemErrorText(error)})`, request);
    return isMissing ? 403 : 500;
  }
}

function credentialsOf(request: HttpRequest): Credentials | undefined {
  return parseCredentials(request.header(request.isForProxy ? 'proxy-authorization' : 'authorization'));
}

function sourceOf(file: Template, scope: Scope): UserSource {
  const { constant } = file;
  const absolute = (text: string): string => scope.args.path(textOf(text), 'conf');
  if (constant === undefined) {
    const found = (request: HttpRequest): string | undefined => {
      const path = absolute(file.of(request));
      return leavesFolder(file, path, absolute) ? undefined : path;
    };
    return { path: found, users: undefined };
  }
  const path = scope.args.path(textOf(constant), 'conf');
  return { path: () => path, users: scope.file(path, usersIn, 'auth_basic_user_file') };
}

/** A function of the file alone: scopes that name the same file share the users. */
function usersIn(file: InputFile): Users {
  return parseUsers(file.bytes, ({ line, message }) => file.fail(line, message, FORMS_HINT));
}

/** The password is not checked: that takes as long as it is meant to. */
function explainAccess(realm: Template): ExplainHandler {
  return (request, notes) => {
    const text = realm.of(request);
    if (text === 'off') return DECLINED;
    const credentials = credentialsOf(request);
    if (credentials === undefined) {
      notes.say(`asks for a user name and a password of "${text}": the request has none`, { realm: text });
      return reject(request, text);
    }
    notes.say(`checks the password of user "${credentials.user}" of "${text}"`, { realm: text, user: credentials.user });
    notes.assume(`auth_basic: the password of user "${credentials.user}" is right`);
    return OK;
  };
}

function reject(request: HttpRequest, realm: string): Result {
  if (request.isForProxy) {
    request.response.set('Proxy-Authenticate', challenge(realm));
    return 407;
  }
  request.response.set('WWW-Authenticate', challenge(realm));
  return 401;
}
