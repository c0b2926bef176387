/** Names, in the environment of a new program, the socket over which it speaks with the server that it replaces. */
export const UPGRADE_SOCKET = 'SRV_UPGRADE';
