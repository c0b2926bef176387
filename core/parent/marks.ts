/** Marks the environment of a server that runs in the background. */
export const DAEMON_MARK = 'SRV_DAEMON';
/** Marks that of the process that reads the configuration as root for a running server: the numbers of the user, `1:1`. */
export const PREPARE_MARK = 'SRV_PREPARE';
/** Marks that of a server that has a parent. */
export const CHILD_MARK = 'SRV_CHILD';
/** Marks that of the process that is to take the place of a parent. */
export const SUCCESSOR_MARK = 'SRV_SUCCESSOR';
/** Names, in that of a server, how the one before has crashed: `SIGSEGV 123`, the signal and the number of its process. */
export const CRASH_MARK = 'SRV_CRASH';
/** Marks that of a parent which inherits sockets of systemd, and lists them. */
export const ACTIVATION_MARK = 'SRV_ACTIVATION';
