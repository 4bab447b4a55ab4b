// Runs a program with this one's stdin, stdout and environment, and writes its peak resident memory in KiB to
// descriptor 3.
//
// Small on purpose: Linux counts the memory that a process had before execve(2) into its peak, so whoever starts
// the program sets the lower limit of what can be seen. Source: getrusage(2), ru_maxrss.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: peak_rss PROGRAM [ARGUMENT]... 3>FILE\n", stderr);
    return 2;
  }
  const pid_t pid = ::fork();
  if (pid < 0) {
    std::perror("peak_rss: fork");
    return 1;
  }
  if (pid == 0) {
    ::close(3);
    ::execvp(argv[1], argv + 1);
    std::perror(argv[1]);
    ::_exit(127);
  }
  int status = 0;
  rusage usage{};
  if (::wait4(pid, &status, 0, &usage) != pid) {
    std::perror("peak_rss: wait4");
    return 1;
  }
  ::dprintf(3, "%ld\n", usage.ru_maxrss);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
