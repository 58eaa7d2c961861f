/* The limit for benchmarks/client_ceiling.py: a client that reads event streams with epoll and does nothing else.
   Usage: read_stream PORT STREAMS. Prints: events, CPU seconds, p50 and p99 of the delay of an event in microseconds. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MOST 4000000
static double delays[MOST];

static int rising(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static long long now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int argc, char **argv) {
    int port = atoi(argv[1]), streams = atoi(argv[2]), open_now = streams, poll_fd = epoll_create1(0);
    long events = 0;
    char request[] = "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}", data[65536];
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    (void)argc;
    for (int i = 0; i < streams; i++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(fd, (struct sockaddr *)&to, sizeof to) || write(fd, request, strlen(request)) < 0) return 1;
        struct epoll_event wanted = {.events = EPOLLIN, .data.fd = fd};
        epoll_ctl(poll_fd, EPOLL_CTL_ADD, fd, &wanted);
    }
    while (open_now) {
        struct epoll_event ready[256];
        int count = epoll_wait(poll_fd, ready, 256, -1);
        for (int i = 0; i < count; i++) {
            ssize_t size = read(ready[i].data.fd, data, sizeof data - 1);
            if (size <= 0) { close(ready[i].data.fd); open_now--; continue; }
            data[size] = 0;
            long long now = now_ns();
            for (char *at = data; (at = strstr(at, "\"t\": ")) && events < MOST; at += 5)
                delays[events++] = (now - atoll(at + 5)) / 1e3;
        }
    }
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    qsort(delays, events, sizeof *delays, rising);
    printf("%ld %.6f %.1f %.1f\n", events, used.ru_utime.tv_sec + used.ru_utime.tv_usec / 1e6 + used.ru_stime.tv_sec
           + used.ru_stime.tv_usec / 1e6, delays[events / 2], delays[(long)(events * 0.99)]);
    return 0;
}
