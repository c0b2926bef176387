import { StagedServers } from '../changes/staged-servers.js';
import { StagedUpstreams } from '../changes/staged-upstreams.js';
import type { Staging } from '../changes/staging.js';
import { StreamServers, StreamUpstreams } from '../contract/stream-servers.js';
import { Upstreams } from '../contract/upstreams.js';
import { VirtualServers } from '../contract/virtual-servers.js';
import { HTTP_SERVERS } from '../http/site/settings.js';
import type { Instance } from '../kernel/instance.js';
import { STREAM_SERVERS } from '../stream/site/stream-listens.js';

/** Makes modules that change the configuration see the result of the calls before theirs. */
export function showStaged(instance: Instance, staging: Staging): void {
  const { services } = instance;
  services.provide(Upstreams, new StagedUpstreams(services.get(Upstreams), 'http', staging));
  services.provide(StreamUpstreams, new StagedUpstreams(services.get(StreamUpstreams), 'stream', staging));
  const args = () => instance.modules.args;
  services.provide(VirtualServers, new StagedServers(services.get(VirtualServers), HTTP_SERVERS, staging, args));
  services.provide(StreamServers, new StagedServers(services.get(StreamServers), STREAM_SERVERS, staging, args));
}
