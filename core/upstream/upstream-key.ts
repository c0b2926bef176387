/** Key of an upstream: nginx compares the names of upstreams without case. */
export const upstreamKey = (name: string): string => name.toLowerCase();
