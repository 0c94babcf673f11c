#include "cores.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "boundary.h"

#ifdef __linux__
#include <sched.h>
#endif

namespace {

// Number of cores that a quota of microseconds per period amounts to; 0 without a quota.
double share(const std::string& quota, double period) {
  const double allowed = std::strtod(quota.c_str(), nullptr);  // "max" and -1 mean no quota
  return allowed > 0 && period > 0 ? allowed / period : 0;
}

double quota_of(const std::string& folder, bool unified) {
  std::string quota, period;
  if (unified) {
    std::ifstream(folder + "/cpu.max") >> quota >> period;
  } else {
    std::ifstream(folder + "/cpu.cfs_quota_us") >> quota;
    std::ifstream(folder + "/cpu.cfs_period_us") >> period;
  }
  return share(quota, std::strtod(period.c_str(), nullptr));
}

// The smallest quota of a group and all groups that contain it; 0 without a quota.
double least_quota(const std::string& root, std::string path, bool unified) {
  double least = 0;
  for (;;) {
    const double here = quota_of(root + path, unified);
    if (here > 0 && (least == 0 || here < least)) least = here;
    const size_t end = path.rfind('/');
    if (path.empty() || end == std::string::npos) return least;
    path.resize(end);
  }
}

// The same for the groups of a process, in the format of /proc/self/cgroup: "number:controllers:/path".
double least_quota_of(const std::string& root, std::istream& groups) {
  double least = 0;
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':'), second = line.find(':', first == std::string::npos ? first : first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",", path = line.substr(second + 1);
    const bool unified = controllers == ",,";
    if (!unified && controllers.find(",cpu,") == std::string::npos) continue;
    for (const char* folder : {"", "/unified", "/cpu", "/cpu,cpuacct"}) {
      const double here = least_quota(root + folder, path == "/" ? "" : path, unified);
      if (here > 0 && (least == 0 || here < least)) least = here;
    }
  }
  return least;
}

int64_t look_up() try {
  int64_t count = std::max(1u, std::thread::hardware_concurrency());
#ifdef __linux__
  cpu_set_t set;
  if (!sched_getaffinity(0, sizeof set, &set)) count = std::max(1, CPU_COUNT(&set));
  std::ifstream groups("/proc/self/cgroup");
  const double quota = least_quota_of("/sys/fs/cgroup", groups);
  if (quota > 0) count = std::min<int64_t>(count, std::max<int64_t>(1, static_cast<int64_t>(std::ceil(quota))));
#endif
  return count;
} catch (...) {
  return 1;
}

}  // namespace

int64_t liquidtime::cores() {
  static const int64_t count = look_up();
  return count;
}

LT_EXPORT int64_t lt_cores() { return liquidtime::cores(); }

// The smallest quota of the groups in `groups`, in the file system at `root`; 0 without a quota, -1 without memory.
LT_EXPORT double lt_quota(const char* root, const char* groups) try {
  std::istringstream lines(groups);
  return least_quota_of(root, lines);
} catch (...) {
  return -1;
}
