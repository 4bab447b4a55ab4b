#include "cmd/railctl/accept/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/text.h"

namespace rail::accept {
namespace {

v1::RunPerftestResponse ReportOf(std::string_view output) {
  v1::RunPerftestResponse response;
  ReadReport(output, response);
  return response;
}

TEST(Perftest, ReadsTheAverageOfABandwidth) {
  const auto report = ReportOf(
      "---------------------------------------------------------------------------------------\n"
      "                    RDMA_Write BW Test\n"
      " Dual-port       : OFF\t\tDevice         : mlx5_4\n"
      " Number of qps   : 1\t\tTransport type : IB\n"
      " local address: LID 0000 QPN 0x0114 PSN 0x6a5a0c RKey 0x1fff00 VAddr 0x007f1f0a2d7000\n"
      "---------------------------------------------------------------------------------------\n"
      " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
      " 65536      1869472          0.00               392.06             0.747791\n"
      "---------------------------------------------------------------------------------------\n");
  EXPECT_EQ(report.gbps(), 392.06);
  EXPECT_FALSE(report.met()) << "no word of the other end's queue pair";
  EXPECT_EQ(report.typical_us(), 0);
}

TEST(Perftest, ReadsTypicalLatencyAndPercentile) {
  const auto report = ReportOf(
      " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   "
      "99% percentile[usec]   99.9% percentile[usec] \n"
      " 2       10000          1.61           21.93        1.66     \t       1.67        \t0.09   \t\t1.83   "
      " "
      "\t\t4.52   \n");
  EXPECT_EQ(report.typical_us(), 1.66);
  EXPECT_EQ(report.p99_us(), 1.83);
  EXPECT_EQ(report.gbps(), 0);
}

TEST(Perftest, KnowsThatTheTwoEndsHaveMet) {
  EXPECT_TRUE(ReportOf(" local address: LID 0000 QPN 0x0114 PSN 0x6a5a0c\n remote address: LID 0000 QPN "
                       "0x0116 PSN 0x2be8d\n")
                  .met());
  EXPECT_FALSE(
      ReportOf("Couldn't connect to 10.0.0.2:18515\nUnable to open file descriptor for socket connection\n")
          .met());
}

TEST(Perftest, ReadsNothingWhereNothingIsReported) {
  const std::string in_mib =
      " #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]\n";
  const std::string in_gb =
      " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n";
  const std::string for_a_time = " #bytes        #iterations       t_avg[usec]    tps average\n";
  const std::string without_heading = " 65536 1869472 0.00 392.06 0.74\n";
  for (const std::string& output :
       {std::string(), without_heading, in_mib + " 2 1 0.0 9.9 0.1\n", in_gb + " 65536 12\n",
        in_gb + "Couldn't read reports\n", for_a_time + " 2 5000 1.70 294117.65\n"}) {
    const auto report = ReportOf(output);
    EXPECT_EQ(report.gbps() + report.typical_us() + report.p99_us(), 0) << output;
  }
}

TEST(Perftest, SaysWhatItRuns) {
  v1::RunPerftestRequest request;
  request.set_program("ib_write_bw");
  request.set_rdma_device("mlx5_4");
  request.set_gid_index(3);
  request.set_port(18515);
  request.set_seconds(7);
  EXPECT_EQ(Join(PerftestCommand(request), " "),
            "ib_write_bw -d mlx5_4 -x 3 -p 18515 -F --report_gbits -D 7");
  request.set_program("ib_send_lat");
  request.set_message_bytes(64);
  request.set_datagrams(true);
  request.set_server("10.0.0.2");
  EXPECT_EQ(Join(PerftestCommand(request), " "),
            "ib_send_lat -d mlx5_4 -x 3 -p 18515 -F -n 7000 -s 64 -c UD 10.0.0.2");
  request.set_seconds(3600);
  EXPECT_THAT(PerftestCommand(request), testing::Contains("1000000"));
}

}  // namespace
}  // namespace rail::accept
