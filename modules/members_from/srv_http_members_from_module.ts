import { size, time } from '../../core/contract/args.js';
import type { UpstreamScope } from '../../core/contract/balancer.js';
import { httpModule, type HttpModule } from '../../core/contract/manifest.js';
import type { MemberSource, TakeServers } from '../../core/contract/members.js';
import { ControlPlaneGuard } from '../../core/contract/control-plane-guard.js';
import { HostNames } from '../../core/contract/host-names.js';
import { Log } from '../../core/contract/log.js';
import { ServerInfo } from '../../core/contract/server-info.js';
import { Tasks } from '../../core/contract/tasks.js';
import { directive } from '../../core/contract/spec.js';
import { FileList } from './file-list.js';
import { FollowedList, type ServerList } from './followed-list.js';
import { UrlList } from './url-list.js';

const IN = ['upstream', 'stream upstream'] as const;
/** The longest delay that a timer has: 24 days. */
const LONGEST_MS = 2 ** 31 - 1;

const directives = {
  members_from_interval: directive({
    in: IN,
    args: time(),
    default: '10s',
    doc: 'Time between two readings of the list of a server with `members_from`.',
  }),
  members_from_timeout: directive({
    in: IN,
    args: time(),
    default: '5s',
    doc: 'Longest time in which a list has to be read.',
  }),
  members_from_max_size: directive({
    in: IN,
    args: size(),
    default: '1m',
    doc: 'Most bytes that a list may have. A longer one is an error, and the servers stay as they are.',
  }),
};

/**
 * Servers from a JSON file or URL: `server edge members_from=https://inventory.example.com/edge.json;`. The list is read again and again, and its
 * servers come and go without a reload. If it cannot be read, the last servers stay.
 */
@httpModule({ name: 'srv_http_members_from_module', api: '1.2', plane: 'data', directives })
export class MembersFrom implements HttpModule {
  constructor(
    private readonly tasks: Tasks,
    private readonly log: Log,
    private readonly info: ServerInfo,
    private readonly names: HostNames,
    private readonly guard: ControlPlaneGuard,
  ) {}

  members(source: string, scope: UpstreamScope<typeof directives>): MemberSource | undefined {
    const list = this.#listOf(source, scope);
    if (list === undefined) return undefined;
    const { members_from_interval: interval, members_from_timeout: timeout, members_from_max_size: most } = scope.conf;
    if (interval < 1 || interval > LONGEST_MS) scope.fail('invalid value', 'members_from_interval', 'from 1ms to 24 days');
    if (timeout < 1 || timeout > LONGEST_MS) scope.fail('invalid value', 'members_from_timeout', 'from 1ms to 24 days');
    const title = `servers of upstream "${scope.name}"`;
    return {
      key: JSON.stringify([source, interval, timeout, most]),
      follow: (take: TakeServers) => new FollowedList({ list, title, interval, timeout, most, take, tasks: this.tasks, log: this.log }),
    };
  }

  #listOf(source: string, scope: UpstreamScope<typeof directives>): ServerList | undefined {
    if (source.startsWith('file:')) {
      const path = source.slice('file:'.length);
      return path === '' ? scope.fail('no path in "members_from=file:"', 'server') : new FileList(this.info.path(path));
    }
    if (!/^https?:/i.test(source)) return undefined;
    const url = URL.parse(source);
    if (url === null || url.hostname === '') return scope.fail(`invalid URL "${source}" in "members_from"`, 'server');
    // It is shown by the API and in logs.
    if (url.username !== '' || url.password !== '')
      return scope.fail('"members_from" must not have a user or password', 'server', 'protect the list by the address of its readers');
    return new UrlList(url, this.names, this.guard);
  }
}
