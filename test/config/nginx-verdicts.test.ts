/** What nginx rejects is rejected in its words, what it takes is taken. The table is compared with nginx where it is installed. */
import test, { type ExecutionContext } from 'ava';
import { nginxVerdict } from '../harness/nginx.js';
import { freePort } from '../harness/ports.js';
import { testWith } from '../harness/programs.js';
import { check } from '../harness/check.js';

/** Insides of `http` blocks, and what is said of them. PORT stands for a free port. */
const REFUSED: readonly (readonly [http: string, message: string])[] = [
  ['server { listen 127.0.0.1:PORT so_keepalive=maybe; }', 'invalid so_keepalive value: "maybe"'],
  ['server { listen 127.0.0.1:PORT so_keepalive=::; }', 'invalid so_keepalive value: "::"'],
  ['server { listen 127.0.0.1:PORT so_keepalive=1:2:3:4; }', 'invalid so_keepalive value: "1:2:3:4"'],
  ['server { listen 127.0.0.1:PORT toString=1; }', 'invalid parameter "toString=1"'],
  ['server { listen 127.0.0.1:PORT setfib=1; }', 'invalid parameter "setfib=1"'],
  ['server { listen 127.0.0.1:PORT deferred=1; }', 'invalid parameter "deferred=1"'],
  ['server { listen 127.0.0.1:PORT rcvbuf=foo; }', 'invalid rcvbuf "rcvbuf=foo"'],
  ['server { listen 127.0.0.1:PORT sndbuf=; }', 'invalid sndbuf "sndbuf="'],
  ['server { listen 127.0.0.1:PORT fastopen=x; }', 'invalid fastopen "fastopen=x"'],
  ['server { listen 127.0.0.1:PORT backlog=0; }', 'invalid backlog "backlog=0"'],
  [
    'server { listen 127.0.0.1:PORT backlog=10; } server { listen 127.0.0.1:PORT backlog=10; server_name b; }',
    'duplicate listen options for 127.0.0.1:PORT',
  ],
  [
    'server { listen 127.0.0.1:PORT reuseport; } server { listen 127.0.0.1:PORT so_keepalive=on; server_name b; }',
    'duplicate listen options for 127.0.0.1:PORT',
  ],
  [
    `server { listen unix:/${'a'.repeat(107)}; }`,
    `too long path in the unix domain socket in "unix:/${'a'.repeat(107)}" of the "listen" directive`,
  ],
  [
    'server { listen 127.0.0.1:PORT; large_client_header_buffers 4 511; }',
    'the "large_client_header_buffers" size must be equal to or greater than "connection_pool_size"',
  ],
  ['server { listen 127.0.0.1:PORT; ssl_session_cache foo; }', 'invalid session cache "foo"'],
  ['server { listen 127.0.0.1:PORT; ssl_session_cache shared:SSL; }', 'invalid session cache "shared:SSL"'],
  ['server { listen 127.0.0.1:PORT; ssl_session_cache builtin:1000 shared:SSL:8k; }', 'session cache "shared:SSL:8k" is too small'],
  ['server { listen 18103-18101; }', 'invalid port range in "18103-18101" of the "listen" directive'],
  ['server { listen 127.0.0.1:1-70000; }', 'invalid port in "127.0.0.1:1-70000" of the "listen" directive'],
  ['server { listen 127.0.0.1:PORT; listen 127.0.0.1:PORT-PORT; }', 'a duplicate listen 127.0.0.1:PORT'],
  ['log_format f a; log_format f b; server { listen 127.0.0.1:PORT; }', 'duplicate "log_format" name "f"'],
  ['log_format combined a; server { listen 127.0.0.1:PORT; }', 'duplicate "log_format" name "combined"'],
  ['server { listen 127.0.0.1:PORT; access_log off off; }', 'invalid parameter "off"'],
  ['server { listen 127.0.0.1:PORT; access_log off buffer=1k; }', 'invalid parameter "buffer=1k"'],
  ['server { listen 127.0.0.1:PORT; access_log a combined flush=1s; }', 'no buffer is defined for access_log "a"'],
  ['access_log logs/a nofmt;', 'unknown log format "nofmt"'],
  ['server { listen 127.0.0.1:PORT; access_log a if=$uri; }', 'unknown log format "if=$uri"'],
  ['server { listen 127.0.0.1:PORT; access_log a buffer=32k; }', 'unknown log format "buffer=32k"'],
  ['server { listen 127.0.0.1:PORT; access_log a combined buffer=0; }', 'invalid buffer size "0"'],
  ['server { listen 127.0.0.1:PORT; access_log a combined buffer=1k flush=0; }', 'invalid flush time "0"'],
  ['server { listen 127.0.0.1:PORT; access_log a combined buffer=x; }', 'invalid buffer size "x"'],
  ['server { listen 127.0.0.1:PORT; error_page 499 500 /x; }', 'invalid value "499"'],
  ['server { listen 127.0.0.1:PORT; error_page 403 =abc /x; }', 'invalid value "=abc"'],
  ['server { listen 127.0.0.1:PORT; error_page 403 =20x /x; }', 'invalid value "=20x"'],
  ['error_page 200 /x; server { listen 127.0.0.1:PORT; location / { } }', 'value "200" must be between 300 and 599'],
  ['server { listen 127.0.0.1:PORT; error_page 403 =-1 /x; }', 'invalid value "=-1"'],
  ['server { listen 127.0.0.1:PORT; error_page 403 =$status /x; }', 'invalid value "=$status"'],
  ['server { listen 127.0.0.1:PORT; error_page 403 =200 =300 /x; }', 'invalid value "=200"'],
  ['server { listen 127.0.0.1:PORT; proxy_connect_timeout 1y; }', '"proxy_connect_timeout" directive invalid value'],
  ['server { listen 127.0.0.1:PORT; keepalive_requests -1; }', '"keepalive_requests" directive invalid number'],
  ['server { listen 127.0.0.1:PORT; proxy_next_upstream_tries -1; }', '"proxy_next_upstream_tries" directive invalid number'],
  ['server { listen 127.0.0.1:PORT; send_timeout 1M; }', '"send_timeout" directive invalid value'],
  ['server { listen 127.0.0.1:PORT; client_max_body_size 99999999999g; }', '"client_max_body_size" directive invalid value'],
  [
    'server { listen 127.0.0.1:PORT; client_body_temp_path /nodir/bodies; location / { proxy_pass http://127.0.0.1:1; } }',
    'mkdir() "/nodir/bodies" failed (2: No such file or directory)',
  ],
  [
    'upstream a { server 127.0.0.1:1; } server { listen 127.0.0.1:PORT; location / { proxy_pass http://a:80; } }',
    'upstream "a" may not have port 80',
  ],
  ['server { listen 127.0.0.1:PORT; client_body_temp_path /tmp 0; }', '"client_body_temp_path" directive invalid value'],
  ['server { listen 127.0.0.1:PORT; client_body_temp_path /tmp 1 x; }', '"client_body_temp_path" directive invalid value'],
  ['server { listen 127.0.0.1:PORT; client_body_temp_path /tmp 5 6; }', '"client_body_temp_path" directive invalid value'],
  ['server { listen 127.0.0.1:PORT; location / { return 200; return foo; } }', 'invalid return code "foo"'],
  ['server { listen 127.0.0.1:PORT; return http://x y; }', 'invalid return code "http://x"'],
  ['server { listen 127.0.0.1:PORT; location / { return 200; return $scheme://x y; } }', 'invalid return code "$scheme://x"'],
  ['server { listen 127.0.0.1:PORT; location / { proxy_pass http://127.0.0.1:1#x/y; } }', 'invalid port in upstream "127.0.0.1:1#x/y"'],
  ['server { listen 127.0.0.1:PORT; location / { proxy_pass http://127.0.0.1#x; } }', 'host not found in upstream "127.0.0.1#x"'],
  ['server { listen 127.0.0.1:PORT; location / { proxy_pass http://unix:; } }', 'no path in the unix domain socket in upstream "unix:"'],
  ['server { listen 127.0.0.1:PORT; location / { proxy_pass http://127.0.0.1:x; } }', 'invalid port in upstream "127.0.0.1:x"'],
  ['server { listen 127.0.0.1:PORT; location / { proxy_pass http://127.0.0.1:; } }', 'invalid port in upstream "127.0.0.1:"'],
  ['server { listen 127.0.0.1:PORT; location ~ a { location /b { } } }', 'location "/b" is outside location "a"'],
  ['server { listen 127.0.0.1:PORT; location ~* /a { location = /b { } } }', 'location "/b" is outside location "/a"'],
  [
    'server { listen 127.0.0.1:PORT; location / { proxy_redirect default; proxy_pass http://127.0.0.1:1; } }',
    '"proxy_redirect default" should be placed after the "proxy_pass" directive',
  ],
  [
    'server { listen 127.0.0.1:PORT; proxy_redirect default; location / { proxy_pass http://127.0.0.1:1; } }',
    '"proxy_redirect default" should be placed after the "proxy_pass" directive',
  ],
  [
    'server { listen 127.0.0.1:PORT; location / { proxy_pass http://127.0.0.1:1; proxy_redirect off; proxy_redirect a b; } }',
    '"proxy_redirect" directive is duplicate',
  ],
  [
    'server { listen 127.0.0.1:PORT; location / { proxy_pass http://127.0.0.1:1; proxy_redirect a b; proxy_redirect off; } }',
    '"proxy_redirect" directive is duplicate',
  ],
  ['server { listen 127.0.0.1:PORT; location / { proxy_pass http://127.0.0.1:1; proxy_redirect a; } }', 'invalid parameter "a"'],
  ['server { listen 127.0.0.1:PORT; location / { proxy_redirect a; } }', 'invalid parameter "a"'],
  [
    'server { listen 127.0.0.1:PORT; location / { proxy_pass http://127.0.0.1:1; proxy_redirect a b c; } }',
    'invalid number of arguments in "proxy_redirect" directive',
  ],
  ['server { listen 127.0.0.1:PORT; expires foo; }', '"expires" directive invalid value'],
  ['server { listen 127.0.0.1:PORT; expires modified epoch; }', '"expires" directive invalid value'],
  ['server { listen 127.0.0.1:PORT; expires modified @3h; }', '"expires" directive daily time cannot be used with "modified" parameter'],
  ['server { listen 127.0.0.1:PORT; expires modified @epoch; }', '"expires" directive daily time cannot be used with "modified" parameter'],
  ['server { listen 127.0.0.1:PORT; expires 1h @2h; }', '"expires" directive invalid value'],
  ['server { listen 127.0.0.1:PORT; expires @25h; }', '"expires" directive daily time value must be less than 24 hours'],
  ['upstream u { server http://1.2.3.4; } server { listen 127.0.0.1:PORT; }', 'invalid host in upstream "http://1.2.3.4"'],
  ['upstream u { server 127.0.0.1:80/; } server { listen 127.0.0.1:PORT; }', 'invalid host in upstream "127.0.0.1:80/"'],
  ['upstream u { server 127.0.0.1:1 backup; } server { listen 127.0.0.1:PORT; }', 'no servers in upstream "u"'],
  ['upstream u { zone u 256k; server 127.0.0.1:1 backup; } server { listen 127.0.0.1:PORT; }', 'no servers in upstream "u"'],
  ['server { listen 127.0.0.1:PORT; return 200 {}; }', 'directive "return" is not terminated by ";"'],
  ['server { listen 127.0.0.1:PORT; location ~ a{2} { return 204; } }', 'unknown directive "2}"'],
  ['server { listen 127.0.0.1:PORT; return 200 $Nobody; }', 'unknown "nobody" variable'],
  ['server { listen 127.0.0.1:PORT; server_name ~^(?<uri>a); }', 'the duplicate "uri" variable'],
  ['server { listen 127.0.0.1:PORT; location ~ ^/(?<Host>a) { } }', 'the duplicate "Host" variable'],
  [
    'server { listen 127.0.0.1:PORT; location / { proxy_pass http://127.0.0.1:1; proxy_redirect ~(?<upstream_addr>a) b; } }',
    'the duplicate "upstream_addr" variable',
  ],
  [
    'server { listen 127.0.0.1:PORT; proxy_buffers 1 4k; location / { proxy_pass http://127.0.0.1:1; } }',
    'there must be at least 2 "proxy_buffers"',
  ],
  [
    'server { listen 127.0.0.1:PORT; proxy_buffers 0 4k; location / { proxy_pass http://127.0.0.1:1; } }',
    '"proxy_buffers" directive invalid value',
  ],
  [
    'server { listen 127.0.0.1:PORT; proxy_buffers 8 x; location / { proxy_pass http://127.0.0.1:1; } }',
    '"proxy_buffers" directive invalid value',
  ],
  [
    'server { listen 127.0.0.1:PORT; proxy_buffers 2 4k; location / { proxy_pass http://127.0.0.1:1; } }',
    '"proxy_busy_buffers_size" must be less than the size of all "proxy_buffers" minus one buffer',
  ],
  [
    'server { listen 127.0.0.1:PORT; proxy_busy_buffers_size 29k; location / { proxy_pass http://127.0.0.1:1; } }',
    '"proxy_busy_buffers_size" must be less than the size of all "proxy_buffers" minus one buffer',
  ],
  [
    'server { listen 127.0.0.1:PORT; proxy_buffer_size 64k; location / { proxy_pass http://127.0.0.1:1; } }',
    '"proxy_busy_buffers_size" must be less than the size of all "proxy_buffers" minus one buffer',
  ],
  [
    'server { listen 127.0.0.1:PORT; proxy_busy_buffers_size 2k; location / { proxy_pass http://127.0.0.1:1; } }',
    '"proxy_busy_buffers_size" must be equal to or greater than the maximum of the value of "proxy_buffer_size" and one of the "proxy_buffers"',
  ],
  [
    'server { listen 127.0.0.1:PORT; proxy_temp_file_write_size 1k; location / { proxy_pass http://127.0.0.1:1; } }',
    '"proxy_temp_file_write_size" must be equal to or greater than the maximum of the value of "proxy_buffer_size" and one of the "proxy_buffers"',
  ],
  [
    'server { listen 127.0.0.1:PORT; proxy_max_temp_file_size 1k; location / { proxy_pass http://127.0.0.1:1; } }',
    '"proxy_max_temp_file_size" must be equal to zero to disable temporary files usage or must be equal to or greater than the maximum of the value of "proxy_buffer_size" and one of the "proxy_buffers"',
  ],
  ['server { listen 127.0.0.1:PORT; proxy_ignore_headers Foo; location / { proxy_pass http://127.0.0.1:1; } }', 'invalid value "Foo"'],
  [
    'server { listen 127.0.0.1:PORT; proxy_temp_path /tmp 5 6; location / { proxy_pass http://127.0.0.1:1; } }',
    '"proxy_temp_path" directive invalid value',
  ],
  [
    'server { listen 127.0.0.1:PORT; proxy_temp_path /tmp 1 x; location / { proxy_pass http://127.0.0.1:1; } }',
    '"proxy_temp_path" directive invalid value',
  ],
  [
    'server { listen 127.0.0.1:PORT; proxy_limit_rate x; location / { proxy_pass http://127.0.0.1:1; } }',
    '"proxy_limit_rate" directive invalid value',
  ],
  [
    'server { listen 127.0.0.1:PORT; proxy_buffering maybe; location / { proxy_pass http://127.0.0.1:1; } }',
    'invalid value "maybe" in "proxy_buffering" directive, it must be "on" or "off"',
  ],
  ['server { listen 127.0.0.1:PORT; limit_rate x; }', '"limit_rate" directive invalid value'],
  ['server { listen 127.0.0.1:PORT; limit_rate_after 1z; }', '"limit_rate_after" directive invalid value'],
  ['server { listen 127.0.0.1:PORT; limit_rate 1k 2; }', 'invalid number of arguments in "limit_rate" directive'],
  ['server { listen 127.0.0.1:PORT; limit_rate 1k; limit_rate 2k; }', '"limit_rate" directive is duplicate'],
  ...(
    [
      ['syslog:server=127.0.0.1 combined buffer=1k', 'logs to syslog cannot be buffered'],
      ['syslog:server=127.0.0.1 combined gzip', 'logs to syslog cannot be buffered'],
      ['syslog: combined', 'unknown syslog parameter ""'],
      ['syslog:tag=x combined', 'no syslog server specified'],
      ['syslog:server=127.0.0.1,foo=1 combined', 'unknown syslog parameter "foo=1"'],
      ['syslog:server=127.0.0.1,facility=x combined', 'unknown syslog facility "x"'],
      ['syslog:server=127.0.0.1,severity=x combined', 'unknown syslog severity "x"'],
      ['syslog:server=127.0.0.1,tag=a-b combined', 'syslog "tag" only allows alphanumeric characters and underscore'],
      [`syslog:server=127.0.0.1,tag=${'a'.repeat(33)} combined`, 'syslog tag length exceeds 32'],
      ['syslog:server=,tag=a combined', 'no host in syslog server ""'],
      ['syslog:server=unix:', 'no path in the unix domain socket in syslog server "unix:"'],
      ['syslog:server=127.0.0.1:99999 combined', 'invalid port in syslog server "127.0.0.1:99999"'],
      ['syslog:server=127.0.0.1,server=127.0.0.2 combined', 'duplicate syslog "server"'],
      ['syslog:server=name.invalid combined', 'host not found in syslog server "name.invalid"'],
      ['syslog:server=$host combined', 'host not found in syslog server "$host"'],
      ['a combined gzip=10', 'invalid compression level "10"'],
      ['a combined gzip=x', 'invalid compression level "x"'],
      ['a gzip', 'unknown log format "gzip"'],
      ['$host combined gzip', 'buffered logs cannot have variables in name'],
    ] as const
  ).map(([log, message]) => [`server { listen 127.0.0.1:PORT; access_log ${log}; }`, message] as const),
  ['connection_pool_size 100;', 'the pool size must be no less than 112'],
  ['server { listen 127.0.0.1:PORT; request_pool_size 4097; }', 'the pool size must be a multiple of 16'],
  ['postpone_output x;', '"postpone_output" directive invalid value'],
  ['fastcgi_temp_path /tmp 1 2 3 4;', 'invalid number of arguments in "fastcgi_temp_path" directive'],
  ['server { listen 127.0.0.1:PORT; scgi_temp_path /nodir/scgi; }', 'mkdir() "/nodir/scgi" failed (2: No such file or directory)'],
  ['set_real_ip_from name.invalid; server { listen 127.0.0.1:PORT; }', 'host not found in set_real_ip_from "name.invalid"'],
];

const WARNED: readonly (readonly [http: string, message: string])[] = [
  [
    'server { listen 127.0.0.1:PORT; server_name a; } server { listen 127.0.0.1:PORT; server_name a; }',
    'conflicting server name "a" on 127.0.0.1:PORT, ignored',
  ],
  ['server { listen 127.0.0.1:PORT; } server { listen 127.0.0.1:PORT; }', 'conflicting server name "" on 127.0.0.1:PORT, ignored'],
  [
    'server { listen 127.0.0.1:PORT; server_name *.a; } server { listen 127.0.0.1:PORT; server_name *.a; }',
    'conflicting server name "*.a" on 127.0.0.1:PORT, ignored',
  ],
  ['server { listen 127.0.0.1:PORT; server_name a/b; }', 'server name "a/b" has suspicious symbols'],
  ['server { listen 127.0.0.1:PORT; server_name ~^a/b; }', 'server name "~^a/b" has suspicious symbols'],
  [
    'server { listen 127.0.0.1:PORT; location / { proxy_pass http://127.0.0.1:1; proxy_next_upstream error timeout error; } }',
    'duplicate value "error"',
  ],
  [
    'server { listen 127.0.0.1:PORT; location / { proxy_pass http://127.0.0.1:1; proxy_ignore_headers Vary x-accel-expires vary; } }',
    'duplicate value "vary"',
  ],
  ['server { listen 127.0.0.1:PORT; ssl_protocols TLSv1.2 TLSv1.2; }', 'duplicate value "TLSv1.2"'],
  ['server { listen 127.0.0.1:PORT; allow 10.0.0.1/8; }', 'low address bits of 10.0.0.1/8 are meaningless'],
  ['server { listen 127.0.0.1:PORT; deny 2001:db8::1/32; }', 'low address bits of 2001:db8::1/32 are meaningless'],
];

const ACCEPTED: readonly string[] = [
  'server { listen 127.0.0.1:PORT so_keepalive=30m::10 rcvbuf=8k sndbuf=1m fastopen=0 deferred bind reuseport backlog=1; }',
  'server { listen 127.0.0.1:PORT backlog=10; } server { listen 127.0.0.1:PORT; server_name b; }',
  'server { listen 127.0.0.1:PORT; return 200; return 201; location / { return 200; return 201; } }',
  'server { listen 127.0.0.1:PORT; keepalive_timeout 75 1y; expires 1y; } upstream u { server 127.0.0.1:1 fail_timeout=1M; }',
  'server { listen 127.0.0.1:PORT; expires $uri; location / { expires modified +24h; } location /a { expires @15h30m; } }',
  'server { listen 127.0.0.1:PORT; location / { proxy_pass $scheme://127.0.0.1:1; } }',
  'server { listen 127.0.0.1:PORT; client_body_temp_path bodies 5 5; client_body_in_single_buffer on; }',
  'server { listen 127.0.0.1:PORT; proxy_buffers 4 8k; proxy_busy_buffers_size 24k; proxy_temp_file_write_size 8k; proxy_max_temp_file_size 0; }',
  'server { listen 127.0.0.1:PORT; proxy_buffer_size 0; proxy_busy_buffers_size 28k; proxy_temp_path responses 5 5; proxy_limit_rate 1k; }',
  'server { listen 127.0.0.1:PORT; limit_rate $arg_a; location / { limit_rate_after 1m; set $limit_rate 4k; if ($arg_b) { limit_rate 0; limit_rate_after $arg_c; } } }',
  'server { listen 127.0.0.1:PORT; client_max_body_size 8388607g; server_name ~x ~x; }',
  'server { listen 127.0.0.1:PORT; allow 10.0.0.0/8; deny 2001:db8::/32; deny 10.0.0.1; allow all; }',
  'server { listen 127.0.0.1:PORT; error_page 403 = /x; error_page 404 =0 /x; error_page 405 406 =204 /x; }',
  'server { listen 127.0.0.1:PORT; location ~ /é { location /é { } location ~ b { } } location / { proxy_pass http://127.0.0.1:1/a?b#c; } }',
  'server { listen 127.0.0.1:PORT; location / { proxy_pass http://127.0.0.1:1; proxy_redirect off b; proxy_redirect a ~b; proxy_redirect default; } }',
  'server { listen 127.0.0.1:000PORT; keepalive_requests 0; } upstream u { server 127.0.0.1:00080; keepalive 4; keepalive_requests 0; }',
  'server { listen 127.0.0.1:PORT; ssl_session_cache builtin:1000 shared:SSL:1m; large_client_header_buffers 4 512; }',
  'server { listen 127.0.0.1:PORT; server_name ~^(?<Args>a); location ~ (?<http_x>a)(?<cookie_y>b)(?<proxy_host>c) { return 200 $HTTP_X; } }',
  'upstream u { server 127.0.0.1:1 backup; server 127.0.0.1:2 down; } server { listen 127.0.0.1:PORT; }',
  'server { listen 127.0.0.1:PORT; access_log a combined gzip=9 buffer=1k flush=1s; access_log b combined flush=1s gzip; access_log syslog:server=[::1]:5514; }',
  'error_log syslog:server=localhost,nohostname,facility=local0 info; server { listen 127.0.0.1:PORT; access_log syslog:server=unix:/no/log,tag=; }',
  'connection_pool_size 256; request_pool_size 4k; subrequest_output_buffer_size 0; server { listen 127.0.0.1:PORT; postpone_output 0; }',
  'proxy_headers_hash_max_size 1024; server { listen 127.0.0.1:PORT; location / { proxy_headers_hash_bucket_size 128; } }',
  'server { listen 127.0.0.1:PORT; return 200 "$arg_ $http_ $cookie_ $sent_http_ $upstream_http_ $upstream_cookie_ $pipe $connection_time"; }',
  'map $arg_ $x { default $pipe; } server { listen 127.0.0.1:PORT; return 200 $x; }',
  'server { listen 127.0.0.1:PORT; set_real_ip_from localhost; }',
];

/** What is before the `http` block. */
const OUTSIDE: readonly (readonly [outside: string, message: string])[] = [
  ['events { use foo; }', 'invalid event type "foo"'],
  ['events { use epoll; }', ''],
  ...(process.platform === 'linux' ? [['events { use kqueue; }', 'invalid event type "kqueue"'] as const] : []),
  ['worker_cpu_affinity 0x; events {}', 'invalid character "x" in "worker_cpu_affinity"'],
  ['worker_cpu_affinity 01 auto; events {}', 'invalid character "o" in "worker_cpu_affinity"'],
  ['worker_cpu_affinity auto 0101; events {}', ''],
  ['worker_processes two; events {}', '"worker_processes" directive invalid value'],
  ['worker_processes -1; events {}', '"worker_processes" directive invalid value'],
  ['worker_priority 99; events {}', ''],
  ['worker_priority high; events {}', '"worker_priority" directive invalid number'],
  ['error_log stderr debug_http; events {}', ''],
  ['error_log syslog:server=127.0.0.1:5514,severity=info warn; error_log syslog:server=localhost; events {}', ''],
  ['error_log syslog:server=127.0.0.1,x; events {}', 'unknown syslog parameter "x"'],
  ['error_log syslog:server=name.invalid; events {}', 'host not found in syslog server "name.invalid"'],
  ['error_log stderr debug_x; events {}', 'invalid log level "debug_x"'],
];

const ROWS = [
  ...REFUSED.map(([http, message]) => ({ http, level: 'emerg', message })),
  ...WARNED.map(([http, message]) => ({ http, level: 'warn', message })),
  ...ACCEPTED.map((http) => ({ http, level: 'none', message: '' })),
];

const filled = (text: string, port: number): string => text.replaceAll('PORT', String(port));

test('a table of configurations', async (t) => {
  const port = await freePort(t);
  for (const { http, level, message } of ROWS) {
    const { code, stderr } = await check(t, `events {} http { access_log off;\n${filled(http, port)}\n}`);
    const said = [...stderr.matchAll(/^srv: \[(\w+)\] (.*?)(?: in \S+:2)?$/gm)].map(([, found, text]) => `[${found}] ${text}`);
    const expected = level === 'none' ? [] : [`[${level}] ${filled(message, port)}`];
    t.deepEqual(said, expected, http);
    t.is(code, level === 'emerg' ? 1 : 0, http);
  }
});

test('a table of what is before http', async (t) => {
  for (const [outside, message] of OUTSIDE) {
    const { code, stderr } = await check(t, outside);
    t.is(/^srv: \[\w+\] (.*?) in \S+:1$/m.exec(stderr)?.[1] ?? '', message, outside);
    t.is(code, message === '' ? 0 : 1, outside);
  }
});

async function agrees(t: ExecutionContext): Promise<void> {
  const port = await freePort(t);
  for (const [outside, message] of OUTSIDE) t.is(nginxVerdict(t, '', outside), message, outside);
  for (const { http, message } of ROWS) {
    const said = nginxVerdict(t, filled(http, port));
    t.is(said, filled(message, port), http);
  }
}

testWith('nginx')('nginx says the same of the table', agrees);
