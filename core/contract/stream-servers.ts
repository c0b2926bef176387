/** The servers and upstreams of the stream engine, for modules that look at the configuration as sessions meet it. */
import { Upstreams } from './upstreams.js';
import { VirtualServers } from './virtual-servers.js';

/** As {@link VirtualServers}; an address is written with `udp` where it is one for datagrams: `0.0.0.0:53 udp`. */
export abstract class StreamServers extends VirtualServers {}

/** As {@link Upstreams}, for the `upstream` blocks in `stream`. */
export abstract class StreamUpstreams extends Upstreams {}
