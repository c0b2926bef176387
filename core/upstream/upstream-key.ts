/** What an upstream is found by: nginx compares the names of upstreams without case. */
export const upstreamKey = (name: string): string => name.toLowerCase();
