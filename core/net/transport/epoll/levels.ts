/** Subjects of socket options and control messages. Numbers of Linux. */
export const enum Level {
  Ip = 0,
  Socket = 1,
  Tcp = 6,
  Ipv6 = 41,
}
