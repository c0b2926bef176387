/** Address families of Linux. */
export const enum SocketFamily {
  Unix = 1,
  IPv4 = 2,
  IPv6 = 10,
}
